#include "visualizers/network/incast_sentence.h"

#include <fmt/format.h>

namespace trainyard {

std::string incast_sentence(const IncastAnswer& a) {
  const IncastRow &none = a.rows.front(), &marks = a.rows.back();
  const double held = a.pipe + static_cast<double>(a.question.buffer);
  std::string said = fmt::format(
      "{} {} {:.1f} % of the link without control and {:.1f} % with marks of congestion (DCTCP).",
      a.question.senders, a.question.senders == 1 ? "sender has" : "senders have",
      100 * none.goodput, 100 * marks.goodput);
  if (none.timeouts > 0)
    said += fmt::format(
        " Timers run out {:.1f} times in an exchange without control, {:.1f} with "
        "marks.",
        none.timeouts, marks.timeouts);
  if (marks.timeouts > 0 && static_cast<double>(a.question.senders) > held)
    said +=
        fmt::format(" Link and buffer hold {:.0f} packets, less than one of each sender.", held);
  return said;
}

}  // namespace trainyard
