#include "app/cli/text/clusters/shared_cluster_text.h"

#include <string_view>

#include "app/cli/text/lines.h"
#include "core/base/units_text.h"
#include "visualizers/network/shared_cluster_view.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

std::string in_words(double seconds_taken) {
  return seconds_taken > 0 ? format_duration(seconds(seconds_taken)) : "none";
}

// "1 MB", and not "497759232 B".
std::string sized(Bytes bytes) {
  constexpr std::size_t kShort = 8;
  const std::string exact = to_text(bytes);
  return exact.size() > kShort ? readable(bytes) : exact;
}

std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

}  // namespace

std::string shared_cluster_text(const SharedClusterAnswer& a) {
  const SharedClusterQuestion& q = a.question;
  const bool flows = a.rows.front().mean_completion > 0;
  Out out;
  line(out, "{} on {} leaves and {} of {} links {} {} each; {}\n", counted(q.jobs, "job", "jobs"),
       q.leaves, counted(q.spines, "spine", "spines"), to_text(q.link),
       q.jobs == 1 ? "reduces" : "reduce", sized(q.gradients),
       flows ? fmt::format("short flows of {} take {:.3g} % of the links between switches",
                           sized(q.message), 100 * q.load)
             : "there are no short flows");
  line(out, "  {:<10} {:>12} {:>12} {:>13}{} {:>16}", "reduced in", "alone", "all together",
       "a job's step",
       flows ? fmt::format(" {:>17} {:>16}", "short flow, mean", "99 of 100 within") : "",
       "worst link");
  for (const SharedClusterRow& row : a.rows)
    line(out, "  {:<10} {:>12} {:>12} {:>13}{} {:>13.4g} MB", row.reduction,
         in_words(row.lone_seconds), in_words(row.all_reduce_seconds),
         in_words(a.compute_seconds + row.all_reduce_seconds),
         flows ? fmt::format(" {:>17} {:>16}", in_words(row.mean_completion),
                             in_words(row.p99_completion))
               : "",
         row.worst_link / 1e6);
  line(out, "");
  for (const std::string& sentence : shared_cluster_sentences(a)) line(out, "{}", sentence);
  return out;
}

}  // namespace trainyard
