# find_package(weft): the library that programs link, as weft::weft; the command, as weft::command.
get_filename_component(_weft_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET weft::weft)
  add_library(weft::weft SHARED IMPORTED)
  set_target_properties(weft::weft PROPERTIES IMPORTED_LOCATION "${_weft_prefix}/lib/libweft.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_weft_prefix}/include")
  add_executable(weft::command IMPORTED)
  set_target_properties(weft::command PROPERTIES IMPORTED_LOCATION "${_weft_prefix}/bin/weft")
endif()
unset(_weft_prefix)
