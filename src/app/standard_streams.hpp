// Standard input, output and error as this command uses them: results that could not be printed are an error,
// remarks that could not be are not.
#pragma once

namespace weft::app {

/// Before anything is opened or printed. A descriptor that is closed would be taken by the next file that is
/// opened, and what is printed would go there.
void prepare_standard_streams();

/// Once everything is printed; throws UserError where some of it was lost.
void finish_standard_output();

/// Was the error being handled one of writing to standard output? Then the reason; else an empty text.
const char* standard_output_error();

}  // namespace weft::app
