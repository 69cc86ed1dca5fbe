#include "app/command.hpp"

int main(int argc, char** argv) { return weft::app::run(argc, argv); }
