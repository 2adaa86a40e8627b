# SPDX-License-Identifier: Apache-2.0
# Writes revision.h with the git revision of the sources ("" where there is none) and their SHA-256, only when it changed.
#
# The hash is that of a list like sha256sum's, of all sources below kernels/ in the order of their bytes:
#   git ls-files '*.c' '*.h' '*.cmake' '*CMakeLists.txt' '*.cfg' | LC_ALL=C sort | xargs sha256sum | sha256sum
# Sources that were unpacked in a folder of another repository are not of its revision.
execute_process(COMMAND git -C ${SOURCE_DIR} ls-files --error-unmatch common/revision.cmake
                OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE untracked)
execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --dirty --abbrev=12 --exclude=*
                OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE result)
if(untracked OR NOT result EQUAL 0)
    set(revision "")
endif()

set(patterns *.c *.h *.cmake CMakeLists.txt *.cfg)
list(TRANSFORM patterns PREPEND ${SOURCE_DIR}/)
file(GLOB_RECURSE sources RELATIVE ${SOURCE_DIR} ${patterns})
file(GLOB_RECURSE builds RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/CMakeCache.txt) # what CMake wrote is no source
foreach(build IN LISTS builds)
    get_filename_component(build ${build} DIRECTORY)
    list(FILTER sources EXCLUDE REGEX "^${build}/")
endforeach()
list(SORT sources)
set(hashes "")
foreach(source IN LISTS sources)
    file(SHA256 ${SOURCE_DIR}/${source} hash)
    string(APPEND hashes "${hash}  ${source}\n")
endforeach()
string(SHA256 source_hash "${hashes}")

set(content "#define COFFEECUP_REVISION \"${revision}\"\n#define COFFEECUP_SOURCE_SHA256 \"${source_hash}\"\n")
set(previous "")
if(EXISTS ${OUTPUT})
    file(READ ${OUTPUT} previous)
endif()
if(NOT content STREQUAL previous)
    file(WRITE ${OUTPUT} "${content}")
endif()
