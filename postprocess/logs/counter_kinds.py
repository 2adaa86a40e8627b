# SPDX-License-Identifier: Apache-2.0
"""The counters of nodes that kernels log (kernels/common/counter_rows.c): their units, and what it means if one counts
during a run. docs/counter-list.md states where each comes from."""

from typing import NamedTuple

PORT_ERRORS = "port_errors"
RETRANSMISSIONS = "retransmissions"
MEMORY_ERRORS = "memory_errors"
THROTTLED = "throttled"
SWAPPED = "swapped"


class Kind(NamedTuple):
    """`unit` is that of the logged numbers. `error` is the key of the qualification of a run during which the counter
    increased; empty if an increase is no error. The counter does not increase beyond `stops_at`. If `counts` is False,
    it is a value that rises and falls."""

    unit: str
    error: str = ""
    stops_at: int | None = None
    counts: bool = True


# The widths of InfiniBand's error counters are those of PortCounters (InfiniBand Architecture Specification, volume 1,
# 16.1.3.5), which stop at their largest value.
KINDS = {
    "rapl_energy": Kind("uJ"),
    "cray_energy": Kind("J"),
    "cray_cpu_energy": Kind("J"),
    "cray_memory_energy": Kind("J"),
    "cray_accelerator_energy": Kind("J"),
    "cray_startup": Kind("restarts"),
    "hwmon_energy": Kind("uJ"),
    "infiniband_port_xmit_data": Kind("4 byte"),
    "infiniband_port_rcv_data": Kind("4 byte"),
    "infiniband_port_xmit_wait": Kind("ticks"),
    "infiniband_symbol_error": Kind("errors", PORT_ERRORS, 2**16 - 1),
    "infiniband_link_error_recovery": Kind("recoveries", PORT_ERRORS, 2**8 - 1),
    "infiniband_link_downed": Kind("failures", PORT_ERRORS, 2**8 - 1),
    "infiniband_port_rcv_errors": Kind("packets", PORT_ERRORS, 2**16 - 1),
    "infiniband_port_rcv_remote_physical_errors": Kind("packets", PORT_ERRORS, 2**16 - 1),
    "infiniband_port_rcv_switch_relay_errors": Kind("packets", PORT_ERRORS, 2**16 - 1),
    "infiniband_port_xmit_discards": Kind("packets", PORT_ERRORS, 2**16 - 1),
    "infiniband_port_xmit_constraint_errors": Kind("packets", PORT_ERRORS, 2**8 - 1),
    "infiniband_port_rcv_constraint_errors": Kind("packets", PORT_ERRORS, 2**8 - 1),
    "infiniband_local_link_integrity_errors": Kind("errors", PORT_ERRORS, 2**4 - 1),
    "infiniband_excessive_buffer_overrun_errors": Kind("errors", PORT_ERRORS, 2**4 - 1),
    "infiniband_VL15_dropped": Kind("packets", "", 2**16 - 1),
    "infiniband_out_of_sequence": Kind("packets", RETRANSMISSIONS),
    "infiniband_packet_seq_err": Kind("packets", RETRANSMISSIONS),
    "infiniband_local_ack_timeout_err": Kind("timeouts", RETRANSMISSIONS),
    "infiniband_rnr_nak_retry_err": Kind("packets"),
    "network_receive_bytes": Kind("byte"),
    "network_receive_packets": Kind("packets"),
    "network_receive_errors": Kind("packets", PORT_ERRORS),
    "network_receive_dropped": Kind("packets"),
    "network_transmit_bytes": Kind("byte"),
    "network_transmit_packets": Kind("packets"),
    "network_transmit_errors": Kind("packets", PORT_ERRORS),
    "network_transmit_dropped": Kind("packets"),
    "tcp_segments_sent": Kind("segments"),
    "tcp_segments_sent_again": Kind("segments"),
    "cxi_hni_pcs_uncorrected_cw": Kind("codewords", PORT_ERRORS),
    "cxi_hni_pcs_corrected_cw": Kind("codewords"),
    "cxi_hni_rx_bad_ieee": Kind("errors", PORT_ERRORS),
    "cxi_hni_rx_bad_opt": Kind("errors", PORT_ERRORS),
    "cxi_hni_llr_tx_replay_event": Kind("events", RETRANSMISSIONS),
    "cxi_hni_llr_rx_replay_event": Kind("events", RETRANSMISSIONS),
    "cxi_pct_retry_srb_requests": Kind("requests", RETRANSMISSIONS),
    "cxi_pct_spt_timeouts": Kind("timeouts", RETRANSMISSIONS),
    "cxi_pct_sct_timeouts": Kind("timeouts", RETRANSMISSIONS),
    "cxi_hni_pkts_sent_by_tc": Kind("packets"),
    "cxi_hni_pkts_recv_by_tc": Kind("packets"),
    "nfs_calls": Kind("calls"),
    "nfs_calls_sent_again": Kind("calls"),
    "nfs_server_read_bytes": Kind("byte"),
    "nfs_server_written_bytes": Kind("byte"),
    "lustre_read_bytes": Kind("byte"),
    "lustre_write_bytes": Kind("byte"),
    "edac_ce_count": Kind("errors", MEMORY_ERRORS),
    "edac_ue_count": Kind("errors", MEMORY_ERRORS),
    "memory_pgpgin": Kind("KiB"),
    "memory_pgpgout": Kind("KiB"),
    "memory_pgmajfault": Kind("faults"),
    "memory_workingset_refault_file": Kind("pages"),
    "memory_pswpin": Kind("pages", SWAPPED),
    "memory_pswpout": Kind("pages", SWAPPED),
    "core_throttle_count": Kind("events", THROTTLED),
    "package_throttle_count": Kind("events", THROTTLED),
    "lowest_frequency_limit": Kind("kHz", counts=False),
    "highest_temperature": Kind("0.001 degree C", counts=False),
}
