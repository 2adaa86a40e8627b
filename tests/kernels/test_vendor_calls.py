# SPDX-License-Identifier: Apache-2.0
"""The declarations in kernels/common/vendor_calls.h against the vendors' own headers, and kernels with the libraries of
CUDA and cuFile on a machine without a device."""

import ctypes.util
import sysconfig
from pathlib import Path

import priomark_runs
import pytest
from accelerators import run_in_memory
from builds import ROOT
from kernel_runs import error, good, run

COMMON = ROOT / "kernels" / "common"
NVIDIA = Path(sysconfig.get_paths()["purelib"], "nvidia")
# Assignments that a compiler refuses unless the types of the functions are the same.
ASSIGN = "#define ASSIGN(name) CALL(name) of_##name = PREFIX(name);\n"
RUNTIME = ASSIGN + "enum {{ MANAGED = {0}MemAttachGlobal, BY_ADDRESSES = {0}MemcpyDefault }};\nRUNTIME_CALLS(ASSIGN)\n"
SAME = '_Static_assert((int)MANAGED_BY_ALL == MANAGED && (int)COPY_BY_ADDRESSES == BY_ADDRESSES, "other values");\n'


def header(name, *folders):
    for folder in folders:
        if (folder / name).exists():
            return folder
    return pytest.skip(f"no {name} on this machine: see site_configs/local/setup")


def compiled(tmp_path, text, *flags):
    (tmp_path / "vendor.c").write_text(text)
    command = ["cc", "-std=gnu11", "-Wall", "-Werror", f"-I{COMMON}", *flags, tmp_path / "vendor.c"]
    good(run([*command, "-o", tmp_path / "vendor"]))
    return tmp_path / "vendor"


def test_cuda_declarations_are_the_vendors(tmp_path):
    folder = header("cuda_runtime_api.h", *NVIDIA.glob("cu*/include"), Path("/usr/local/cuda/include"))
    text = "#include <cuda_runtime_api.h>\n#include <vendor_calls.h>\n"
    text += "#define CALL(name) runtime_##name\n#define PREFIX(name) cuda##name\n"
    compiled(tmp_path, text + RUNTIME.format("cuda") + SAME, f"-I{folder}", "-c")


def test_hip_declarations_are_the_vendors(tmp_path):
    folder = header("hip/hip_runtime_api.h", Path("/usr/include"), Path("/opt/rocm/include"))
    text = "#define __HIP_PLATFORM_AMD__\n#include <hip/hip_runtime_api.h>\n#include <vendor_calls.h>\n"
    text += "#define CALL(name) runtime_##name\n#define PREFIX(name) hip##name\n"
    flags = (f"-I{folder}", "-Wno-error", "-Werror=incompatible-pointer-types", "-c")
    compiled(tmp_path, text + RUNTIME.format("hip") + SAME, *flags)


STRUCTURES = {
    "ze_context_desc_t": "stype pNext flags",
    "ze_command_queue_desc_t": "stype pNext ordinal index flags mode priority",
    "ze_device_mem_alloc_desc_t": "stype pNext flags ordinal",
    "ze_host_mem_alloc_desc_t": "stype pNext flags",
    "ze_device_memory_properties_t": "stype pNext totalSize name",
    "ze_pci_ext_properties_t": "stype pNext address.domain address.bus address.device address.function",
}
STYPES = "DEVICE_MEMORY_PROPERTIES CONTEXT_DESC COMMAND_QUEUE_DESC DEVICE_MEM_ALLOC_DESC HOST_MEM_ALLOC_DESC"
CONSTANTS = [f"ZE_STRUCTURE_TYPE_{name}" for name in (*STYPES.split(), "PCI_EXT_PROPERTIES")]
CONSTANTS += ["ZE_INIT_FLAG_GPU_ONLY", "ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS"]


CUFILE_STRUCTURES = {
    "CUfileError_t": "err cu_err",
    "CUfileDescr_t": "type handle.fd fs_ops",
    "CUfileDrvProps_t": "nvfs.major_version nvfs.minor_version nvfs.dcontrolflags max_batch_io_timeout_msecs",
}
CUFILE_CONSTANTS = ["CU_FILE_HANDLE_TYPE_OPAQUE_FD", "CU_FILE_ALLOW_COMPAT_MODE"]


def same_declarations(tmp_path, folder, vendor, calls, structures, constants):
    """Functions by the compiler; the layout of structures and the values of constants by a program that prints them,
    built with each of the headers. `calls` are the lines that declare an assignment of each function."""
    ours = '#include "vendor_calls.h"\n'
    compiled(tmp_path, f"{vendor}{ours}{calls}", f"-I{folder}", "-c")
    values = [f"sizeof({name})" for name in structures]
    values += [f"offsetof({name}, {field})" for name, fields in structures.items() for field in fields.split()]
    values += constants
    prints = "".join(f'    printf("{value} %ld\\n", (long){value});\n' for value in values)
    program = f"#include <stddef.h>\n#include <stdio.h>\nint main(void)\n{{\n{prints}    return 0;\n}}\n"
    printed = [run([compiled(tmp_path, text + program, f"-I{folder}")]).stdout for text in (vendor, ours)]
    assert printed[0] == printed[1] and printed[0].count("\n") == len(values)


def test_level_zero_declarations_are_the_vendors(tmp_path):
    folder = header("level_zero/ze_api.h", Path("/usr/include"))
    calls = f"#define CALL(name) ze_##name\n#define PREFIX(name) ze##name\n{ASSIGN}LEVEL_ZERO_CALLS(ASSIGN)\n"
    same_declarations(tmp_path, folder, "#include <level_zero/ze_api.h>\n", calls, STRUCTURES, CONSTANTS)


def test_cufile_declarations_are_the_vendors(tmp_path):
    folder = header("cufile.h", *NVIDIA.glob("cu*/include"), Path("/usr/local/cuda/include"))
    calls = f"#define CALL(name) cufile_##name\n#define PREFIX(name) cuFile##name\n{ASSIGN}CUFILE_CALLS(ASSIGN)\n"
    same_declarations(tmp_path, folder, "#include <cufile.h>\n", calls, CUFILE_STRUCTURES, CUFILE_CONSTANTS)


def test_cuda_runtime_without_a_device_gives_its_own_error_in_one_line(openmpi, tmp_path):
    """The library is the vendor's, of PyPI; it finds neither a device nor a driver."""
    folder = header("libcudart.so.13", *NVIDIA.glob("cu*/lib"))
    if Path("/proc/driver/nvidia").exists():
        pytest.skip("this machine has a driver of CUDA")
    done = run_in_memory(openmpi, tmp_path, 2, "cuda", "--memory-anyway", LD_LIBRARY_PATH=folder)
    assert done.returncode == 2
    [line] = [line for line in done.stderr.splitlines() if "error:" in line]
    old = "CUDA driver version is insufficient for CUDA runtime version (error 35)"
    assert f"--memory cuda: cudaGetDeviceCount: {old}" in line


def test_real_cufile_without_a_device_is_refused_in_one_line(openmpi, tmp_path):
    """It has all functions; the first that is called is one of CUDA, because cuFile waits for a driver without end."""
    folder = header("libcufile.so.0", *NVIDIA.glob("cu*/lib"))
    if Path("/proc/driver/nvidia").exists():
        pytest.skip("this machine has a driver of CUDA")
    workload = 'single_file = { process_size = "16KiB"; methods = "cufile"; };'
    done = priomark_runs.run(openmpi, tmp_path, workload, 2, env={"LD_LIBRARY_PATH": folder})
    assert done.returncode == 2 and priomark_runs.leftovers(tmp_path) == []
    assert "cudaGetDeviceCount: CUDA driver version is insufficient" in error(done) and "gdscheck -p" in error(done)


UCX = """#include <stddef.h>
#include <ucp/api/ucp.h>
#include "vendor_calls.h"
#define SAME(one, other) _Static_assert((long)(one) == (long)(other), #one)
#define SAME_FIELD(name) SAME(offsetof(ucp_context_attr_t, name), offsetof(struct ucx_attributes, name))
SAME(sizeof(ucs_status_t), sizeof(signed char));
SAME(offsetof(ucp_params_t, features), offsetof(struct ucx_parameters, features));
SAME_FIELD(field_mask);
SAME_FIELD(memory_types);
SAME(UCP_PARAM_FIELD_FEATURES, UCX_FIELD_FEATURES);
SAME(UCP_FEATURE_TAG, UCX_TAGGED);
SAME(UCP_ATTR_FIELD_MEMORY_TYPES, UCX_FIELD_MEMORY_TYPES);
SAME(UCS_MEMORY_TYPE_CUDA, 1);
SAME(UCS_MEMORY_TYPE_CUDA_MANAGED, 2);
SAME(UCS_MEMORY_TYPE_ROCM, 3);
SAME(UCS_MEMORY_TYPE_ROCM_MANAGED, 4);
_Static_assert(sizeof(ucp_params_t) <= sizeof(struct ucx_parameters), "too short");
_Static_assert(sizeof(ucp_context_attr_t) <= sizeof(struct ucx_attributes), "too short");
typedef const ucp_params_t *parameters;
ucs_status_t (*init)(unsigned, unsigned, parameters, const ucp_config_t *, ucp_context_h *) = ucp_init_version;
ucs_status_t (*query)(ucp_context_h, ucp_context_attr_t *) = ucp_context_query;
void (*cleanup)(ucp_context_h) = ucp_cleanup;
"""


def test_declarations_of_ucx_are_its_own(tmp_path):
    """Its functions have the types that are written here, its structures the fields that the kernel accesses."""
    header("ucp/api/ucp.h", Path("/usr/include"))
    compiled(tmp_path, UCX, "-c")


def test_real_ucx_without_accelerators_supports_none(openmpi, tmp_path):
    library = ctypes.util.find_library("ucp")
    if not library:
        pytest.skip("no libucp on this machine (Debian: libucx0)")
    done = run_in_memory(openmpi, tmp_path, 2, "cuda", library=library)
    assert done.returncode == 2 and '"ucp_context_query": false' in done.stderr
