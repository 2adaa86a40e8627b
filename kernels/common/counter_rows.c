/* SPDX-License-Identifier: Apache-2.0 */
/* See counter_rows.h. */
#include "counter_rows.h"

#include <stddef.h>

#define PM_COUNTERS "/sys/cray/pm_counters/"
#define PORT "/sys/class/infiniband/*/ports/*/"
#define CXI "/sys/class/cxi/*/device/telemetry/"

#define INFINIBAND(counter) {.name = "infiniband_" #counter, .files = PORT "counters/" #counter}
#define INFINIBAND_HARDWARE(counter) {.name = "infiniband_" #counter, .files = PORT "hw_counters/" #counter}
#define NETWORK(counter, number) \
    {.name = "network_" counter, .files = "/proc/net/dev", .form = FORM_DEVICES, .field = (number)}

const struct counter_row counter_rows[] = {
    {.name = "rapl_energy",
     .files = "/sys/class/powercap/intel-rapl:*/energy_uj",
     .label = "name",
     .largest = "max_energy_range_uj",
     .energy = true},
    {.name = "cray_energy", .files = PM_COUNTERS "energy", .energy = true},
    {.name = "cray_cpu_energy", .files = PM_COUNTERS "cpu_energy", .energy = true},
    {.name = "cray_memory_energy", .files = PM_COUNTERS "memory_energy", .energy = true},
    {.name = "cray_accelerator_energy", .files = PM_COUNTERS "accel*_energy", .energy = true},
    {.name = "cray_startup", .files = PM_COUNTERS "startup", .energy = true},
    {.name = "hwmon_energy", .files = "/sys/class/hwmon/hwmon*/energy*_input", .label = "name", .energy = true},
    INFINIBAND(port_xmit_data),
    INFINIBAND(port_rcv_data),
    INFINIBAND(port_xmit_wait),
    INFINIBAND(symbol_error),
    INFINIBAND(link_error_recovery),
    INFINIBAND(link_downed),
    INFINIBAND(port_rcv_errors),
    INFINIBAND(port_rcv_remote_physical_errors),
    INFINIBAND(port_rcv_switch_relay_errors),
    INFINIBAND(port_xmit_discards),
    INFINIBAND(port_xmit_constraint_errors),
    INFINIBAND(port_rcv_constraint_errors),
    INFINIBAND(local_link_integrity_errors),
    INFINIBAND(excessive_buffer_overrun_errors),
    INFINIBAND(VL15_dropped),
    INFINIBAND_HARDWARE(out_of_sequence),
    INFINIBAND_HARDWARE(packet_seq_err),
    INFINIBAND_HARDWARE(local_ack_timeout_err),
    INFINIBAND_HARDWARE(rnr_nak_retry_err),
    NETWORK("receive_bytes", 1),
    NETWORK("receive_packets", 2),
    NETWORK("receive_errors", 3),
    NETWORK("receive_dropped", 4),
    NETWORK("transmit_bytes", 9),
    NETWORK("transmit_packets", 10),
    NETWORK("transmit_errors", 11),
    NETWORK("transmit_dropped", 12),
    {0}};
