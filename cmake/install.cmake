# Where everything goes, for `cmake --install` and `./weft install`. What only Weft itself loads is in lib/weft; the command
# finds it from where it stands itself (src/base/own_files.hpp), so an installation may be moved.
set(WEFT_PRIVATE lib/weft)

# Manual pages and completions: the command writes them, from its own declarations.
set(WEFT_PAGES ${CMAKE_BINARY_DIR}/pages)
add_custom_command(OUTPUT ${WEFT_PAGES}/stamp COMMAND ${CMAKE_COMMAND} -E rm -rf ${WEFT_PAGES} COMMAND weft help --pages ${WEFT_PAGES}
  COMMAND ${CMAKE_COMMAND} -E touch ${WEFT_PAGES}/stamp DEPENDS weft VERBATIM)
add_custom_target(weft_pages ALL DEPENDS ${WEFT_PAGES}/stamp)
add_dependencies(programs weft_pages)

set_target_properties(weft_library PROPERTIES INSTALL_RPATH "")
set_target_properties(weft_provider PROPERTIES INSTALL_RPATH "$ORIGIN")
install(TARGETS weft RUNTIME DESTINATION bin)
install(TARGETS weft_library weft_provider LIBRARY DESTINATION ${WEFT_PRIVATE})
install(TARGETS weft_init RUNTIME DESTINATION ${WEFT_PRIVATE})
install(PROGRAMS ${WEFT_RANKS_LIBRARY} DESTINATION ${WEFT_PRIVATE})
if(TARGET weft_gpu)
  install(TARGETS weft_gpu LIBRARY DESTINATION ${WEFT_PRIVATE})
endif()
# Programs that `weft bench` and `weft validate` start.
set_target_properties(${WEFT_EXAMPLE_TARGETS} PROPERTIES INSTALL_RPATH "$ORIGIN/..")
install(TARGETS ${WEFT_EXAMPLE_TARGETS} RUNTIME DESTINATION ${WEFT_PRIVATE}/examples)
install(PROGRAMS ${WEFT_VALIDATION_BINARIES} DESTINATION ${WEFT_PRIVATE}/validation)

# For those who build programs with the library: the same file, under the name that linkers look for.
install(CODE "file(CREATE_LINK weft/libweft.so \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/libweft.so\" SYMBOLIC)")
install(FILES src/lib/weft.h DESTINATION include)
# Libraries by the names of real machines' own, where `weft config` looks for them (src/app/client_files.cpp).
set_target_properties(${WEFT_NATIVE_TARGETS} PROPERTIES INSTALL_RPATH "$ORIGIN")
install(TARGETS ${WEFT_NATIVE_TARGETS} LIBRARY DESTINATION ${WEFT_PRIVATE})
install(FILES ${WEFT_PUBLIC_HEADERS} DESTINATION include/weft)
set(WEFT_NATIVE_INCLUDE [=[${prefix}/../../include/weft]=])
foreach(WEFT_NATIVE_NAME rma2 velo2 glex apenet)
  configure_file(src/lib/native/library.pc.in ${CMAKE_BINARY_DIR}/installed/${WEFT_NATIVE_NAME}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/installed/${WEFT_NATIVE_NAME}.pc DESTINATION ${WEFT_PRIVATE}/pkgconfig)
endforeach()
configure_file(cmake/weft.pc.in ${CMAKE_BINARY_DIR}/weft.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/weft.pc DESTINATION lib/pkgconfig)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/weft-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/weft-config.cmake ${CMAKE_BINARY_DIR}/weft-config-version.cmake DESTINATION lib/cmake/weft)

install(DIRECTORY profiles/ DESTINATION share/weft/profiles FILES_MATCHING PATTERN "*.toml")
install(DIRECTORY examples/ DESTINATION share/weft/examples USE_SOURCE_PERMISSIONS)
install(PROGRAMS tools/build-linux DESTINATION share/weft/tools)
install(DIRECTORY tools/linux DESTINATION share/weft/tools)
install(DIRECTORY ${WEFT_PAGES}/ DESTINATION share PATTERN stamp EXCLUDE)
# Any Python 3 runs it: it has no compiled part.
install(DIRECTORY python/weft DESTINATION lib/python3/dist-packages FILES_MATCHING PATTERN "*.py")
install(FILES README.md LICENSE CHANGELOG.md CITATION.cff docs/reference.md DESTINATION share/doc/weft)

set(CPACK_PACKAGE_NAME weft)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "an HPC interconnect you can run")
set(CPACK_PACKAGE_DESCRIPTION "A text file describes a supercomputer's network; Weft boots it in software,\n and unmodified MPI programs run on it in virtual time.")
set(CPACK_PACKAGE_CONTACT "the authors of Weft <weft@localhost>")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libopenmpi-dev, openmpi-bin")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-pandas, openipmi")
include(CPack)
