# Writes OUTPUT, a header with the version and with what Weft is built with; only where it differs from what is there, so that
# nothing is compiled again for nothing. The version is that of the last tag (v1.2.3, and how many commits after it); FALLBACK
# where there is no tag or no repository, as in an archive of the source.
set(version ${FALLBACK})
find_program(GIT git)
if(GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE} describe --tags --match "v[0-9]*" OUTPUT_VARIABLE tag RESULT_VARIABLE failed
    ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  # The repository must be this project's: an archive may lie inside of another one.
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --show-toplevel OUTPUT_VARIABLE top ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT failed AND top STREQUAL SOURCE)
    string(REGEX REPLACE "^v" "" version "${tag}")
    string(REGEX REPLACE "-([0-9]+)-(g[0-9a-f]+)$" "+\\1.\\2" version "${version}")
  endif()
endif()
set(text "// Written by cmake/version.cmake.\n#pragma once\n\n#define WEFT_VERSION_TEXT \"${version}\"\n#define WEFT_BUILT_WITH \"${BUILT_WITH}\"\n")
set(old "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${OUTPUT} "${text}")
endif()
