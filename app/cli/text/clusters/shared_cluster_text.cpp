#include "app/cli/text/clusters/shared_cluster_text.h"

#include <algorithm>
#include <optional>

#include "app/cli/text/lines.h"
#include "core/base/units_text.h"
#include "core/io/json/fields.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

// A time of which nothing was measured is 0 in the row, and absent from the document.
auto completed(double SharedClusterRow::* time) {
  return [time](const SharedClusterRow& row) {
    return row.*time > 0 ? std::optional(row.*time) : std::nullopt;
  };
}

Fields<SharedClusterRow> shared_cluster_row_fields() {
  return {
      {"reduction", &SharedClusterRow::reduction, text()},
      {"lone_seconds", &SharedClusterRow::lone_seconds, number(),
       "an all-reduce of one job that has the network to itself"},
      {"all_reduce_seconds", completed(&SharedClusterRow::all_reduce_seconds), number(),
       "with all jobs and short flows; absent where none was complete before the short flows were"},
      {"mean_completion_seconds", completed(&SharedClusterRow::mean_completion), number(),
       "of a short flow; absent where there was none"},
      {"p99_completion_seconds", completed(&SharedClusterRow::p99_completion), number(),
       "which one of a hundred short flows exceeds; absent where there was none"},
      {"worst_link_bytes", &SharedClusterRow::worst_link, number(),
       "of one all-reduce of every job over the most loaded link between switches"}};
}

Fields<SharedClusterAnswer> shared_cluster_fields() {
  const auto of = [](auto member) { return in(&SharedClusterAnswer::question, member); };
  using Q = SharedClusterQuestion;
  return document_fields<SharedClusterAnswer>(
      "trainyard/shared-cluster",
      {{"leaves", of(&Q::leaves), whole(2)},
       {"spines", of(&Q::spines), whole(1)},
       {"jobs", of(&Q::jobs), whole(1), "each with a worker below every leaf"},
       {"load", of(&Q::load), number(), "of short flows on the links between switches"},
       {"trees", of(&Q::trees), whole(1), "of a job"},
       {"connections", of(&Q::connections), whole(1), "between neighbours of a ring"},
       {"slots", of(&Q::slots), whole(1), "of an aggregating switch"},
       {"messages", of(&Q::messages), whole(), "short flows that were drawn"},
       {"rows", &SharedClusterAnswer::rows, list_of(object(shared_cluster_row_fields())),
        "by how jobs reduce"}});
}

std::string in_words(double seconds_taken) {
  return seconds_taken > 0 ? format_duration(seconds(seconds_taken)) : "none";
}

}  // namespace

std::string shared_cluster_text(const SharedClusterAnswer& a) {
  const SharedClusterQuestion& q = a.question;
  Out out;
  line(out,
       "{} jobs on {} leaves and {} spines of {} links reduce {} each; short flows of {} take "
       "{:.3g} % of the links between switches\n",
       q.jobs, q.leaves, q.spines, to_text(q.link), to_text(q.gradients), to_text(q.message),
       100 * q.load);
  line(out, "  {:<10} {:>12} {:>12} {:>17} {:>16} {:>16}", "reduced in", "alone", "all together",
       "short flow, mean", "99 of 100 within", "worst link");
  for (const SharedClusterRow& row : a.rows)
    line(out, "  {:<10} {:>12} {:>12} {:>17} {:>16} {:>13.4g} MB", row.reduction,
         in_words(row.lone_seconds), in_words(row.all_reduce_seconds),
         in_words(row.mean_completion), in_words(row.p99_completion), row.worst_link / 1e6);
  const bool unfinished =
      std::any_of(a.rows.begin(), a.rows.end(),
                  [](const SharedClusterRow& row) { return row.all_reduce_seconds == 0; });
  if (unfinished)
    line(out, "none: no all-reduce was complete before the short flows were; try more --messages");
  const SharedClusterRow &ring = a.rows.front(), &trees = a.rows.back();
  line(out, "\nin {} a lone job takes {:.2f} of its ring's time", trees.reduction,
       trees.lone_seconds / ring.lone_seconds);
  if (trees.p99_completion > 0)
    line(out,
         "and 99 of 100 short flows complete {:.2g} times as fast, {:.2g} times in the mean, as "
         "beside rings with {} between neighbours",
         ring.p99_completion / trees.p99_completion, ring.mean_completion / trees.mean_completion,
         q.connections == 1 ? std::string("1 connection")
                            : fmt::format("{} connections", q.connections));
  return out;
}

std::string shared_cluster_document(const SharedClusterAnswer& a) {
  return write_json(shared_cluster_fields().write(a));
}

Json shared_cluster_schema() { return shared_cluster_fields().schema(); }

}  // namespace trainyard
