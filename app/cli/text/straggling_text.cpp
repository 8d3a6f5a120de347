#include "app/cli/text/straggling_text.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "app/cli/text/lines.h"
#include "core/base/units_text.h"
#include "core/io/json/fields.h"

namespace trainyard {
namespace {

constexpr std::int64_t kTabledReplicas[] = {2, 8, 64, 512, 4096};
constexpr std::size_t kMostBars = 16, kBarWidth = 40;

StragglingRow straggling_row(std::int64_t replicas, const StragglingQuestion& q) {
  return {replicas, slowest_step(replicas, q.sigma), gumbel_step(replicas, q.sigma),
          step_of_period(replicas, q.sigma, q.period), slowest_step(1, q.sigma)};
}

const StragglingRow& own_row(const StragglingAnswer& a) {
  return *std::find_if(a.rows.begin(), a.rows.end(), [&](const StragglingRow& row) {
    return row.replicas == a.question.replicas;
  });
}

std::string percent_apart(double found, double wanted) {
  return fmt::format("{:+.1f} %", 100 * (found / wanted - 1) + 0.0);
}

// Bars of equal width hold the arrivals but for the last 1 %, which may be far older than others.
void write_histogram(Out& out, const StragglingAnswer& a) {
  const std::vector<std::int64_t>& counts = a.staleness.counts;
  const auto share = [&](std::int64_t of) {
    return static_cast<double>(of) / static_cast<double>(a.question.arrivals);
  };
  std::size_t least = 0, end = 0;
  while (counts[least] == 0) ++least;
  std::int64_t left = a.question.arrivals;
  for (end = least; share(left) > 0.01; ++end) left -= counts[end];
  const std::size_t width = (end - least + kMostBars - 1) / kMostBars;
  std::vector<std::int64_t> bars;
  for (std::size_t i = least; i < end; ++i) {
    if ((i - least) % width == 0) bars.push_back(0);
    bars.back() += counts[i];
  }
  const std::int64_t most = *std::max_element(bars.begin(), bars.end());
  const auto expected = static_cast<std::size_t>(a.question.replicas - 1);
  for (std::size_t b = 0; b < bars.size(); ++b) {
    const std::size_t from = least + b * width, to = std::min(from + width, end) - 1;
    const auto stars = static_cast<std::size_t>(std::llround(
        static_cast<double>(kBarWidth) * static_cast<double>(bars[b]) / static_cast<double>(most)));
    line(out, "  {:>14} {:>7} {}{}",
         from == to ? fmt::format("{}", from) : fmt::format("{} to {}", from, to),
         readable_share(share(bars[b])), std::string(stars, '*'),
         from <= expected && expected <= to ? fmt::format("  <- expected mean, {}", expected) : "");
  }
  if (left > 0) line(out, "  {:>14} {:>7}", "more", readable_share(share(left)));
}

Fields<StragglingRow> straggling_row_fields() {
  return {{"replicas", &StragglingRow::replicas, whole(2)},
          {"every_step", &StragglingRow::slowest, number(), "medians of a replica's step"},
          {"every_step_by_gumbel", &StragglingRow::gumbel, number(), "its approximation"},
          {"once_in_period", &StragglingRow::of_period, number()},
          {"never", &StragglingRow::mean, number(), "the mean of a replica's step"}};
}

Fields<StragglingAnswer> straggling_fields() {
  const auto of = [](auto member) { return in(&StragglingAnswer::question, member); };
  return document_fields<StragglingAnswer>(
      "trainyard/stragglers",
      {{"replicas", of(&StragglingQuestion::replicas), whole(2)},
       {"sigma", of(&StragglingQuestion::sigma), number(), "of the logarithm of a step's time"},
       {"period", of(&StragglingQuestion::period), whole(1), "steps from one meeting to the next"},
       {"steps", &StragglingAnswer::rows, list_of(object(straggling_row_fields())),
        "mean time of a step by number of replicas and by how often they wait for each other"},
       {"expected_staleness", [](const StragglingAnswer& a) { return a.question.replicas - 1; },
        whole(1),
        "updates between a fetch and the gradient's arrival at a server that nobody waits for"},
       {"mean_staleness", [](const StragglingAnswer& a) { return a.staleness.mean; }, number(),
        "of the arrivals"},
       {"staleness", [](const StragglingAnswer& a) { return a.staleness.counts; }, list_of(whole()),
        "number of arrivals by their staleness, from 0"}});
}

}  // namespace

StragglingAnswer straggling_answer(const StragglingQuestion& question) {
  StragglingAnswer made{question, {}, {}};
  std::set<std::int64_t> numbers(std::begin(kTabledReplicas), std::end(kTabledReplicas));
  numbers.insert(question.replicas);
  for (const std::int64_t replicas : numbers)
    made.rows.push_back(straggling_row(replicas, question));
  made.staleness =
      replay_staleness(question.replicas, question.sigma, question.arrivals, question.seed);
  return made;
}

std::string straggling_text(const StragglingAnswer& a) {
  const StragglingQuestion& q = a.question;
  Out out;
  line(out,
       "replicas whose steps take log-normal times with sigma {}: in medians of a replica's step, "
       "without exchanges",
       q.sigma);
  line(out,
       "Gumbel's approximation of the slowest is within 3 % from 4 replicas on while sigma is at "
       "most 0.3;\nsteps once in {} are within 2 % of drawn ones up to 64 replicas while sigma is "
       "at "
       "most 0.6\n",
       q.period);
  const std::string period = fmt::format("once in {}", q.period);
  line(out, "  {:>9} {:>11} {:>9} {:>8} {:>12} {:>7}", "replicas", "every step", "Gumbel", "apart",
       period, "never");
  for (const StragglingRow& row : a.rows)
    line(out, "{} {:>9} {:>11.3f} {:>9.3f} {:>8} {:>12.3f} {:>7.3f}",
         row.replicas == q.replicas ? "*" : " ", row.replicas, row.slowest, row.gumbel,
         percent_apart(row.gumbel, row.slowest), row.of_period, row.mean);
  const StragglingRow& own = own_row(a);
  line(out,
       "\n{} replicas that wait for the slowest in every step (sync=bsp) take {:.3g} times as long "
       "as they would if nobody waited; once in {} steps (sync=local-sgd, easgd) {:.3g} times",
       q.replicas, own.slowest / own.mean, q.period, own.of_period / own.mean);
  line(out,
       "\nstaleness at a server that nobody waits for: updates between a replica's fetch and the "
       "arrival of its gradient\nmean {:.4g} of {} drawn arrivals (seed {}), expected P - 1 = {}, "
       "{}\n",
       a.staleness.mean, q.arrivals, q.seed, q.replicas - 1,
       percent_apart(a.staleness.mean, static_cast<double>(q.replicas - 1)));
  write_histogram(out, a);
  return out;
}

Json stragglers_schema() { return straggling_fields().schema(); }

std::string straggling_document(const StragglingAnswer& a) {
  return write_json(straggling_fields().write(a));
}

}  // namespace trainyard
