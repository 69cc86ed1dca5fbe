// Pages of HTML that need nothing but themselves: style and script are inline, and texts are escaped.
// They are well-formed XML too, so that they can be checked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::report {

std::string html_page(std::string_view title, std::string_view body);

/// A heading and what stands under it, which is HTML; `lead` is a sentence between them, and may be empty.
std::string html_section(std::string_view id, std::string_view heading, std::string_view lead,
                         std::string_view content);

struct HtmlColumn {
  std::string heading;
  bool number = false;
};
/// Cells are HTML: escape what is text.
std::string html_table(const std::vector<HtmlColumn>& columns,
                       const std::vector<std::vector<std::string>>& rows);

/// A share of 1 as a bar with its percentage beside it. `heat`: in a colour of links in pictures, see
/// Chart::svg.
std::string html_bar(double share, std::string_view colour, bool heat = false);

}  // namespace weft::report
