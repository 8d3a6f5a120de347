#include "app/cli/text/clusters/incast_text.h"

#include "app/cli/text/lines.h"
#include "core/base/units_text.h"
#include "core/io/json/fields.h"
#include "visualizers/network/incast_sentence.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

Fields<IncastRow> incast_row_fields() {
  return {{"control", &IncastRow::control, text(), "none, or marks: DCTCP"},
          {"seconds", &IncastRow::seconds, number(), "of an exchange, in the mean"},
          {"goodput", &IncastRow::goodput, number(), "share of the receiver's link"},
          {"lost_packets", &IncastRow::lost, number(), "of an exchange, in the mean"},
          {"timeouts", &IncastRow::timeouts, number(), "of an exchange, in the mean"},
          {"most_queued_packets", &IncastRow::queue, whole(), "in the buffer"}};
}

Fields<IncastAnswer> incast_fields() {
  const auto of = [](auto member) { return in(&IncastAnswer::question, member); };
  using Q = IncastQuestion;
  return document_fields<IncastAnswer>(
      "trainyard/incast",
      {{"senders", of(&Q::senders), whole(1)},
       {"exchanges", of(&Q::exchanges), whole(1), "that follow each other"},
       {"block_bytes", [](const IncastAnswer& a) { return a.question.block.value; }, whole(1),
        "of each sender in an exchange"},
       {"packet_bytes", [](const IncastAnswer& a) { return a.question.packet.value; }, whole(1)},
       {"link_bytes_per_second", [](const IncastAnswer& a) { return a.question.link.value; },
        number()},
       {"buffer_packets", of(&Q::buffer), whole()},
       {"threshold_packets", of(&Q::threshold), whole(), "in the queue, above which it marks"},
       {"window_packets", of(&Q::window), whole(1), "the most that a sender has under way"},
       {"timeout_seconds", [](const IncastAnswer& a) { return to_seconds(a.question.timeout); },
        number()},
       {"round_trip_seconds",
        [](const IncastAnswer& a) { return to_seconds(a.question.round_trip); }, number()},
       {"pipe_packets", &IncastAnswer::pipe, number(), "that the link holds in a round trip"},
       {"seconds_alone", &IncastAnswer::alone_seconds, number(),
        "of an exchange whose bytes pass the link without a pause"},
       {"rows", &IncastAnswer::rows, list_of(object(incast_row_fields())), "by control"}});
}

}  // namespace

std::string incast_text(const IncastAnswer& a) {
  const IncastQuestion& q = a.question;
  Out out;
  line(out,
       "{} senders answer one receiver at once with {} each over links of {}; its port holds {} "
       "packets and marks above {}\n",
       q.senders, to_text(q.block), to_text(q.link), q.buffer, q.threshold);
  line(out, "  {:<8} {:>12} {:>8} {:>10} {:>10} {:>16}", "control", "an exchange", "goodput",
       "lost", "timeouts", "most in buffer");
  for (const IncastRow& row : a.rows)
    line(out, "  {:<8} {:>12} {:>6.1f} % {:>10.1f} {:>10.2f} {:>16}", row.control,
         format_duration(seconds(row.seconds)), 100 * row.goodput, row.lost, row.timeouts,
         row.queue);
  line(out, "\nwithout a pause the link takes {}", format_duration(seconds(a.alone_seconds)));
  line(out, "{}", incast_sentence(a));
  return out;
}

std::string incast_document(const IncastAnswer& a) { return write_json(incast_fields().write(a)); }

Json incast_schema() { return incast_fields().schema(); }

}  // namespace trainyard
