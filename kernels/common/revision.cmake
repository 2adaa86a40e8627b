# SPDX-License-Identifier: Apache-2.0
# Writes revision.h with the git revision of the sources ("" where there is none), only when it changed.
execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --dirty --abbrev=12 --exclude=*
                OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE result)
if(NOT result EQUAL 0)
    set(revision "")
endif()
set(content "#define COFFEECUP_REVISION \"${revision}\"\n")
set(previous "")
if(EXISTS ${OUTPUT})
    file(READ ${OUTPUT} previous)
endif()
if(NOT content STREQUAL previous)
    file(WRITE ${OUTPUT} "${content}")
endif()
