#include "app/cli/text/clusters/straggling_text.h"

#include "app/cli/text/lines.h"
#include "core/estimate/staleness_bars.h"
#include "core/io/json/fields.h"

namespace trainyard {
namespace {

constexpr std::size_t kMostBars = 16;

std::string percent_apart(double found, double wanted) {
  return fmt::format("{:+.1f} %", 100 * (found / wanted - 1) + 0.0);
}

Fields<StragglingRow> straggling_row_fields() {
  return {{"replicas", &StragglingRow::replicas, whole(2)},
          {"every_step", &StragglingRow::slowest, number(), "medians of a replica's step"},
          {"every_step_drawn", in(&StragglingRow::drawn, &DrawnMean::mean), number(),
           "the mean of drawn steps"},
          {"every_step_drawn_error", in(&StragglingRow::drawn, &DrawnMean::error), number(),
           "its standard error"},
          {"every_step_by_gumbel", &StragglingRow::gumbel, number(),
           "its approximation, without a throttled replica"},
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
       {"lasting", of(&StragglingQuestion::lasting), number(),
        "of the logarithm of a device's own slowness"},
       {"throttled", of(&StragglingQuestion::throttled), number(),
        "times as long as the others: what one replica takes"},
       {"exchange", of(&StragglingQuestion::exchange), number(), "of a meeting, in medians"},
       {"slow_link", of(&StragglingQuestion::slow_link), number(),
        "times as long as it takes because of one link"},
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

std::string straggling_text(const StragglingAnswer& a) {
  const StragglingQuestion& q = a.question;
  Out out;
  line(out,
       "replicas whose steps take log-normal times with sigma {}: in medians of a replica's step, "
       "{}",
       q.sigma,
       q.exchange > 0 ? fmt::format("with an exchange of {} in every meeting", q.exchange)
                      : "without exchanges");
  if (q.lasting > 0)
    line(out, "beside it each device is slow for good by a log-normal factor with sigma {}",
         q.lasting);
  if (q.throttled > 1)
    line(out,
         "one of them is throttled and takes {} times as long as the others, of which Gumbel's "
         "approximation knows nothing",
         q.throttled);
  if (q.exchange > 0 && q.slow_link > 1)
    line(out, "one link makes the exchange of all {} times as long", q.slow_link);
  line(out,
       "Gumbel's approximation of the slowest is within 3 % from 4 replicas on while sigma is at "
       "most 0.3;\nsteps once in {} are within 2 % of drawn ones up to 64 replicas while sigma is "
       "at "
       "most 0.6\n",
       q.period);
  const std::string period = fmt::format("once in {}", q.period);
  line(out, "  {:>9} {:>11} {:>15} {:>9} {:>8} {:>12} {:>7}", "replicas", "every step", "drawn",
       "Gumbel", "apart", period, "never");
  for (const StragglingRow& row : a.rows)
    line(out, "{} {:>9} {:>11.3f} {:>15} {:>9.3f} {:>8} {:>12.3f} {:>7.3f}",
         row.replicas == q.replicas ? "*" : " ", row.replicas, row.slowest,
         fmt::format("{:.3f} ± {:.3f}", row.drawn.mean, row.drawn.error), row.gumbel,
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
  out += staleness_text(staleness_bars(a.staleness.counts, kMostBars), q.replicas - 1);
  return out;
}

Json stragglers_schema() { return straggling_fields().schema(); }

std::string straggling_document(const StragglingAnswer& a) {
  return write_json(straggling_fields().write(a));
}

}  // namespace trainyard
