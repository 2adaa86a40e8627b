/* SPDX-License-Identifier: Apache-2.0 */
/* See counter_rows.h. */
#include "counter_rows.h"

#define PM_COUNTERS "/sys/cray/pm_counters/"
#define PORT "/sys/class/infiniband/*/ports/*/"
#define CXI "/sys/class/cxi/*/device/telemetry/"

#define INFINIBAND(counter) {.name = "infiniband_" #counter, .files = PORT "counters/" #counter}
#define INFINIBAND_HARDWARE(counter) {.name = "infiniband_" #counter, .files = PORT "hw_counters/" #counter}
#define NETWORK(counter, number) \
    {.name = "network_" counter, .files = "/proc/net/dev", .form = FORM_DEVICES, .field = (number)}
#define SLINGSHOT(counter) {.name = "cxi_" #counter, .files = CXI #counter}
#define LINE(counter, file, word, number) \
    {.name = (counter), .files = (file), .form = FORM_LINE, .key = (word), .field = (number)}
#define MEMORY(counter) LINE("memory_" #counter, "/proc/vmstat", #counter, 1)
#define NFS_BYTES(counter, number) \
    {.name = (counter), .files = "/proc/self/mountstats", .form = FORM_MOUNTS, .key = "bytes:", .field = (number)}
#define LUSTRE(counter)                                                              \
    LINE("lustre_" #counter, "/sys/kernel/debug/lustre/llite/*/stats", #counter, 6), \
        LINE("lustre_" #counter, "/proc/fs/lustre/llite/*/stats", #counter, 6)
#define SUM(counter, pattern) {.name = (counter), .files = (pattern), .fold = FOLD_SUM}

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
    LINE("tcp_segments_sent", "/proc/net/snmp", "Tcp:", 11),
    LINE("tcp_segments_sent_again", "/proc/net/snmp", "Tcp:", 12),
    SLINGSHOT(hni_pcs_uncorrected_cw),
    SLINGSHOT(hni_pcs_corrected_cw),
    SLINGSHOT(hni_rx_bad_ieee),
    SLINGSHOT(hni_rx_bad_opt),
    SLINGSHOT(hni_llr_tx_replay_event),
    SLINGSHOT(hni_llr_rx_replay_event),
    SLINGSHOT(pct_retry_srb_requests),
    SLINGSHOT(pct_spt_timeouts),
    SLINGSHOT(pct_sct_timeouts),
    SUM("cxi_hni_pkts_sent_by_tc", CXI "hni_pkts_sent_by_tc_*"),
    SUM("cxi_hni_pkts_recv_by_tc", CXI "hni_pkts_recv_by_tc_*"),
    LINE("nfs_calls", "/proc/net/rpc/nfs", "rpc", 1),
    LINE("nfs_calls_sent_again", "/proc/net/rpc/nfs", "rpc", 2),
    NFS_BYTES("nfs_server_read_bytes", 5),
    NFS_BYTES("nfs_server_written_bytes", 6),
    LUSTRE(read_bytes),
    LUSTRE(write_bytes),
    {.name = "edac_ce_count", .files = "/sys/devices/system/edac/mc/mc*/ce_count"},
    {.name = "edac_ue_count", .files = "/sys/devices/system/edac/mc/mc*/ue_count"},
    MEMORY(pgpgin),
    MEMORY(pgpgout),
    MEMORY(pgmajfault),
    MEMORY(workingset_refault_file),
    MEMORY(pswpin),
    MEMORY(pswpout),
    SUM("core_throttle_count", "/sys/devices/system/cpu/cpu*/thermal_throttle/core_throttle_count"),
    SUM("package_throttle_count", "/sys/devices/system/cpu/cpu*/thermal_throttle/package_throttle_count"),
    {.name = "lowest_frequency_limit",
     .files = "/sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq",
     .fold = FOLD_LOWEST},
    {.name = "highest_temperature", .files = "/sys/class/hwmon/hwmon*/temp*_input", .fold = FOLD_HIGHEST},
    {0}};
