#include "app/workspace/scenario/shared_cluster_document.h"

#include <optional>

#include "core/base/units_text.h"
#include "core/io/json/fields.h"

namespace trainyard {
namespace {

// A time of which nothing was measured is 0 in the row, and absent from the document.
auto completed(double SharedClusterRow::* time) {
  return [time](const SharedClusterRow& row) {
    return row.*time > 0 ? std::optional(row.*time) : std::nullopt;
  };
}

Fields<SharedClusterRow> shared_cluster_row_fields() {
  return {{"reduction", &SharedClusterRow::reduction, text()},
          {"lone_seconds", &SharedClusterRow::lone_seconds, number(),
           "an all-reduce of one job that has the network to itself"},
          {"all_reduce_seconds", completed(&SharedClusterRow::all_reduce_seconds), number(),
           "with all jobs and short flows, mean"},
          {"mean_completion_seconds", completed(&SharedClusterRow::mean_completion), number(),
           "of a short flow; absent where there was none"},
          {"p99_completion_seconds", completed(&SharedClusterRow::p99_completion), number(),
           "which one of a hundred short flows exceeds; absent where there was none"},
          {"worst_link_bytes", &SharedClusterRow::worst_link, number(),
           "of one all-reduce of every job over the most loaded link between switches"},
          {"in_switches", &SharedClusterRow::in_switches, number(),
           "share of a job's gradients that switches add up; the rest goes around its ring"},
          {"completion_seconds", &SharedClusterRow::completions, list_of(number()),
           "within which 0, 1, ... 100 % of the short flows complete; empty where there was none"}};
}

Fields<SwitchSums> switch_sums_fields() {
  return {{"added_in", [](const SwitchSums& row) { return std::string(to_string(row.adder)); },
           "by a switch, in fp32 but for fixed point, which has 32 bits"},
          {"differing", &SwitchSums::differing, number(),
           "share of drawn sums whose bits depend on the order in which packets arrive"},
          {"error", &SwitchSums::error, number(),
           "root of the mean square, over that of the exact sums"}};
}

Fields<SharedClusterAnswer> shared_cluster_answer_fields() {
  const auto of = [](auto member) { return in(&SharedClusterAnswer::question, member); };
  using Q = SharedClusterQuestion;
  using A = SharedClusterAnswer;
  return document_fields<A>(
      "trainyard/shared-cluster",
      {{"leaves", of(&Q::leaves), whole(2)},
       {"spines", of(&Q::spines), whole(1)},
       {"hosts", of(&Q::hosts), whole(1), "below a leaf that send short flows"},
       {"link_bytes_per_second", [](const A& a) { return a.question.link.value; }, number()},
       {"jobs", of(&Q::jobs), whole(1), "each with a worker below every leaf"},
       {"gradient_bytes", [](const A& a) { return a.question.gradients.value; }, whole(1),
        "of each worker of a job"},
       {"communication", of(&Q::communication), number(),
        "share of a lone job's time that its ring takes"},
       {"compute_seconds", &A::compute_seconds, number(), "of a job between two reductions"},
       {"load", of(&Q::load), number(), "of short flows on the links between switches"},
       {"message_bytes", [](const A& a) { return a.question.message.value; }, whole(1),
        "of a short flow"},
       {"trees", of(&Q::trees), whole(1), "of a job"},
       {"connections", of(&Q::connections), whole(1), "between neighbours of a ring"},
       {"slots", of(&Q::slots), whole(1), "of an aggregating switch"},
       {"packet_bytes", [](const A& a) { return a.question.packet.value; }, whole(1),
        "that a slot holds"},
       {"round_trip_seconds", [](const A& a) { return to_seconds(a.question.round_trip); },
        number()},
       {"messages", of(&Q::messages), whole(), "short flows that were drawn"},
       {"rows", &A::rows, list_of(object(shared_cluster_row_fields())), "by how jobs reduce"},
       {"sums", &A::sums, list_of(object(switch_sums_fields())), kWhereSet,
        "of what a switch adds up for a job"}});
}

}  // namespace

std::string shared_cluster_document(const SharedClusterAnswer& a) {
  return write_json(shared_cluster_answer_fields().write(a));
}

Json shared_cluster_schema() { return shared_cluster_answer_fields().schema(); }

}  // namespace trainyard
