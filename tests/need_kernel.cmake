# Run by ctest once it knows the tests by name: those of Linux nodes wait for their kernel.
foreach(name IN LISTS weft_test_names)
  if(name MATCHES "^Boot")
    set_tests_properties("${name}" PROPERTIES FIXTURES_REQUIRED linux_kernel)
  endif()
endforeach()
