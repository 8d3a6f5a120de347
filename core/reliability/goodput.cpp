#include "core/reliability/goodput.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/cluster/cluster.h"
#include "core/reliability/spare_nodes.h"

namespace trainyard {
namespace {

constexpr double kDay = 86400, kWeek = 7 * kDay, kHour = 3600;
constexpr double kForever = std::numeric_limits<double>::infinity();
constexpr double kLeastGoodput = 1e-6;
constexpr int kCurvePoints = 97;
constexpr double kCurveReach = 16;  // times the middle of the curve, to each side
constexpr double kDrawnFailures = 2e5;
constexpr double kMostDrawn = 2e6;  // failures of the weeks that are shown
constexpr int kDrawnTrainings = 100;
constexpr double kFewWaits = 1e-3;

// The part of an answer that costs next to nothing, so that levers and bisections ask it too.
struct Balance {
  CheckpointTimes times;
  SavedTraining training;
  double replaced_share = 0, least = 0, interval = 0, waiting = 0;
  LostTime lost;
  double goodput() const { return (1 - waiting) / (1 + lost.sum()); }
};

void check_positive(const char* place, double value, const char* what) {
  if (!(value > 0) || !std::isfinite(value))
    refuse(place, fmt::format("expected {} above 0, found {}", what, to_text(value)));
}

void check_not_negative(const char* place, double value, const char* what) {
  if (!(value >= 0) || !std::isfinite(value))
    refuse(place, fmt::format("expected {} of 0 or more, found {}", what, to_text(value)));
}

void check_whole(const char* place, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high)
    refuse(place, fmt::format("expected a number from {} to {}, found {}", low, high, value));
}

void check_question(const GoodputQuestion& q) {
  check_positive("tokens", q.work, "an amount of work");
  if (q.mtbf) check_positive("mtbf", *q.mtbf, "a time between failures");
  if (q.interval) check_positive("interval", *q.interval, "a time between saves");
  check_positive("node-storage", q.storage.node.value, "a bandwidth");
  check_positive("storage", q.storage.all.value, "a bandwidth");
  check_not_negative("detection", q.detection, "a time");
  check_not_negative("scheduling", q.scheduling, "a time");
  check_not_negative("repair", q.repair, "a time");
  if (!(q.portion > 0 && q.portion < 1))
    refuse("lost-samples", "expected a portion between 0 and 1, found " + to_text(q.portion));
  if (q.spares) check_whole("spares", *q.spares, 0, kMostSpares);
  check_whole("copies", q.copies, 2, kMostCopies);
  check_whole("weeks", q.weeks, 1, kMostWeeks);
}

// Names the part of the question that keeps the training from ever getting ahead.
[[noreturn]] void refuse_hopeless(const GoodputQuestion& q, const SavedTraining& training,
                                  double least, double load) {
  const double interval = training.keeps_work ? least : std::max(least, best_interval(training));
  const bool would_end = 1 / (1 + lost_time(training, interval).sum()) > kLeastGoodput;
  if (q.interval && would_end)
    throw Error(Error::Kind::Unsupported,
                fmt::format("expected saves more often: a job that stops every {} does not get "
                            "ahead with {} between saves; the best interval is {}",
                            long_time(training.mtbf), long_time(*q.interval), long_time(interval)),
                {"interval"});
  const double longest = std::max({q.detection, q.scheduling, load});
  throw Error(Error::Kind::Unsupported,
              fmt::format("expected rarer failures or shorter restarts: a job that stops every {} "
                          "and takes {} to go on does not get ahead",
                          long_time(training.mtbf), long_time(training.restart)),
              {q.mtbf                    ? "mtbf"
               : longest == q.detection  ? "detection"
               : longest == q.scheduling ? "scheduling"
                                         : "node-storage"});
}

double mtbf_of(const GoodputQuestion& q, std::int64_t devices) {
  if (q.mtbf) return *q.mtbf;
  if (q.record == kNoFailures) return kForever;
  return mean_time_between_failures(failure_record(q.record).rate(), devices);
}

// Levers scale these, and may find that a given interval is shorter than storage allows.
struct Scaled {
  double storage = 1, restart = 1, failures = 1;
  bool forgiving = true;
};

Balance balance(const GoodputSubject& subject, const GoodputQuestion& q, const Scaled& scaled) {
  const Cluster& cluster = subject.scenario.cluster;
  Balance b;
  b.times = checkpoint_times(
      subject.bytes, subject.scenario,
      {{q.storage.node.value * scaled.storage}, {q.storage.all.value * scaled.storage}},
      q.recovery);
  b.training.mtbf = mtbf_of(q, cluster.count) / scaled.failures;
  b.training.save = b.times.blocking;
  b.training.flush = b.times.flush;
  b.training.restart = (q.detection + q.scheduling) / scaled.restart + b.times.load;
  b.training.keeps_work = q.recovery == Recovery::Partial;
  // One flush at a time, and a step is not cut in two.
  b.least = std::max(to_seconds(subject.result.step.value), b.times.flush - b.times.blocking);
  if (q.interval) {
    if (*q.interval < b.least && !scaled.forgiving)
      refuse("interval",
             fmt::format("expected at least {}, found {}: {}", long_time(b.least),
                         long_time(*q.interval),
                         b.times.flush - b.times.blocking >= b.least
                             ? "the save before must have left before the next one begins"
                             : "a step takes that long"));
    b.interval = std::max(*q.interval, b.least);
  } else if (b.training.keeps_work) {
    b.interval = std::max(b.least, interval_of_lost_samples(q.portion, b.training.mtbf,
                                                            static_cast<double>(nodes(cluster))));
  } else {
    b.interval = std::max(b.least, best_interval(b.training));
  }
  b.lost = lost_time(b.training, b.interval);
  b.replaced_share =
      q.mtbf || q.record == kNoFailures ? 1 : failure_record(q.record).replaced_share();
  if (q.spares) b.waiting = waiting_share(*q.spares, b.replaced_share / b.training.mtbf, q.repair);
  return b;
}

// Returns why a partial recovery is not to be had for what was asked; empty where it is.
std::string reason_against_partial(const GoodputSubject& subject, const GoodputQuestion& q) {
  if (q.recovery != Recovery::Partial) return {};
  constexpr double kRounding = 1e-9;
  const Balance partial = balance(subject, q, {.forgiving = false});
  if (!std::isfinite(partial.training.mtbf)) return {};
  const double portion =
      portion_of_lost_samples(partial.interval, partial.training.mtbf,
                              static_cast<double>(nodes(subject.scenario.cluster)));
  if (portion > q.portion * (1 + kRounding))
    return fmt::format(
        "A partial recovery with saves every {} would lose {} of the samples, more than the {} "
        "that "
        "it may: this is a full recovery.",
        long_time(partial.interval), readable_share(portion), readable_share(q.portion));
  GoodputQuestion full = q;
  full.recovery = Recovery::Full;
  const double of_full = balance(subject, full, {.forgiving = false}).goodput();
  if (partial.goodput() > of_full) return {};
  return fmt::format(
      "A partial recovery that loses at most {} of the samples saves every {}, which leaves {} of "
      "the time useful: this is a full recovery, which leaves {}.",
      readable_share(q.portion), long_time(partial.interval), readable_share(partial.goodput()),
      readable_share(of_full));
}

// Refuses questions whose nodes under repair or failures of drawn weeks are too many to be counted
// one by one.
void check_counts(const Balance& b, const GoodputQuestion& q) {
  const double away = b.replaced_share / b.training.mtbf * q.repair;
  if (away > static_cast<double>(kMostSpares))
    refuse("repair",
           fmt::format("expected at most {} nodes that are repaired at once, found {:.3g} "
                       "that fail in {}",
                       kMostSpares, away, long_time(q.repair)));
  const double failures = static_cast<double>(q.weeks) * kWeek / b.training.mtbf;
  if (failures > kMostDrawn)
    refuse("weeks", fmt::format("expected weeks with at most {:.0f} failures, found {:.3g}",
                                kMostDrawn, failures));
}

Banded<double> times(const Banded<double>& of, double factor) {
  return {of.value * factor, of.low * factor, of.high * factor, of.basis};
}

// Devices draw what they draw in a step while they repeat work, and idle power while they stand
// still. Spare nodes idle throughout and cost as much as the others.
TrainingCost disturbed(const TrainingCost& plain, const GoodputAnswer& a, const Result& result) {
  const double stretch = 1 / a.goodput.value;
  TrainingCost cost = plain;
  cost.seconds = times(plain.seconds, stretch);
  const double spare = static_cast<double>(a.question.spares.value_or(0));
  const auto all_nodes = static_cast<double>(a.nodes);
  if (plain.money) cost.money = times(*plain.money, stretch * ((all_nodes + spare) / all_nodes));
  if (!plain.energy) return cost;
  const double standing = std::max(0.0, stretch - (1 + a.lost.repeating));
  const auto devices = static_cast<double>(a.devices);
  const auto energy = [&](Joules working, double seconds, Watts idle) {
    return Joules{working.value * (1 + a.lost.repeating) +
                  idle.value * seconds * devices * (standing + stretch * spare / all_nodes)};
  };
  const PowerDraw draw = result.power.value_or(PowerDraw{});
  cost.energy = Banded<Joules>{energy(plain.energy->value, plain.seconds.value, draw.idle.value),
                               energy(plain.energy->low, plain.seconds.low, draw.idle.low),
                               energy(plain.energy->high, plain.seconds.high, draw.idle.high),
                               plain.energy->basis};
  return cost;
}

std::vector<GoodputPhase> phases_with_failures(const GoodputAnswer& a, const Result& result) {
  std::vector<GoodputPhase> found;
  if (result.ramp.size() < 2) return found;
  double left = a.question.work;
  for (std::size_t i = 0; i < result.ramp.size() && left > 0; ++i) {
    const PricedPhase& phase = result.ramp[i];
    if (!(phase.work > 0)) break;
    const bool last = i + 1 == result.ramp.size();
    const double wanted = left / phase.work;
    const double steps = last ? wanted : std::min(wanted, static_cast<double>(phase.phase.steps));
    const TrainingCost plain = cost_of_steps(phase, steps);
    found.push_back({phase.phase.batch, disturbed(plain, a, result)});
    left -= plain.work;
  }
  return found;
}

TrainingWeeks weeks_of(const GoodputAnswer& a, double seconds, std::uint64_t seed) {
  return {
      a.training, a.interval, a.replaced_share, a.question.spares.value_or(-1), a.question.repair,
      seconds,    seed};
}

// The 5th and the 95th of a hundred trainings as long as this one. With very many failures they are
// too near each other to be worth the time.
void draw_band(GoodputAnswer& a) {
  const double seconds = a.cost.seconds.value;
  a.goodput.low = a.goodput.high = a.goodput.value;
  if (std::isinf(a.training.mtbf) || !(seconds > 0)) {
    a.goodput.basis = "nothing fails";
    return;
  }
  if (seconds / a.training.mtbf * kDrawnTrainings > kDrawnFailures) {
    a.goodput.basis = "failures are too many for chance to matter";
    return;
  }
  std::vector<double> all;
  for (int i = 0; i < kDrawnTrainings; ++i)
    all.push_back(
        draw_weeks(weeks_of(a, seconds, a.question.seed + static_cast<std::uint64_t>(i)), false)
            .goodput());
  std::sort(all.begin(), all.end());
  a.goodput.low = std::min(a.goodput.value, all[4]);
  a.goodput.high = std::max(a.goodput.value, all[94]);
  a.goodput.basis = "90 of 100 drawn trainings of this length lie between";
}

std::vector<IntervalPoint> curve_of(const GoodputAnswer& a) {
  double middle = std::isfinite(a.best) && a.best > 0 ? a.best
                  : std::isfinite(a.interval)         ? a.interval
                                                      : kHour;
  if (a.training.keeps_work && std::isfinite(a.interval)) middle = a.interval;
  middle = std::max(middle, a.least);
  const double low = std::max({a.least, middle / kCurveReach, 1e-9}),
               high =
                   std::max(middle, std::isfinite(a.interval) ? a.interval : middle) * kCurveReach;
  std::vector<IntervalPoint> points;
  for (int i = 0; i < kCurvePoints; ++i) {
    const double interval = low * std::pow(high / low, static_cast<double>(i) / (kCurvePoints - 1));
    points.push_back({interval, lost_time(a.training, interval)});
  }
  return points;
}

std::vector<GoodputLever> levers_of(const GoodputSubject& subject, const GoodputAnswer& a) {
  const GoodputQuestion& q = a.question;
  const double now = 1 - a.goodput.value;
  std::vector<GoodputLever> found;
  if (!(now > 0)) return found;
  const auto goodput_with = [&](const GoodputQuestion& changed, const Scaled& scaled) {
    return balance(subject, changed, scaled).goodput();
  };
  const auto add = [&](const char* name, double after, std::optional<double> halves_at) {
    found.push_back({name, after, (1 - after) / now, halves_at});
  };
  constexpr double kMostTimes = 1e4;
  const auto scaled_lever = [&](const char* name, double Scaled::* what) {
    const auto with = [&](double times) {
      Scaled scaled;
      scaled.*what = what == &Scaled::failures ? 1 / times : times;
      return goodput_with(q, scaled);
    };
    std::optional<double> halves_at;
    if (1 - with(kMostTimes) <= now / 2) {
      double low = 1, high = kMostTimes;
      for (int i = 0; i < 60; ++i) {
        const double middle = std::sqrt(low * high);
        (1 - with(middle) <= now / 2 ? high : low) = middle;
      }
      halves_at = high;
    }
    add(name, with(2), halves_at);
  };
  scaled_lever("storage twice as fast", &Scaled::storage);
  scaled_lever("detection and scheduling in half the time", &Scaled::restart);
  scaled_lever("half as many failures", &Scaled::failures);
  const auto recovery = [&](Recovery other, const char* name) {
    GoodputQuestion changed = q;
    changed.recovery = other;
    try {
      add(name, goodput_with(changed, {}), std::nullopt);
    } catch (const Error& error) {
      // A cluster without what it takes has no such lever.
      if (error.kind() != Error::Kind::Unsupported) throw;
    }
  };
  if (q.recovery == Recovery::Full) recovery(Recovery::Asynchronous, "asynchronous saves");
  if (q.recovery == Recovery::Full || q.recovery == Recovery::Asynchronous)
    recovery(Recovery::Peers, "saves in memories of peer nodes");
  if (q.interval && !a.training.keeps_work) {
    GoodputQuestion changed = q;
    changed.interval.reset();
    add("saves at the best interval", goodput_with(changed, {}), std::nullopt);
  }
  if (q.spares && a.waiting > 0) {
    GoodputQuestion changed = q;
    changed.spares = *q.spares + 1;
    add("one more spare node", goodput_with(changed, {}), std::nullopt);
    changed.spares.reset();
    add("spare nodes enough", goodput_with(changed, {}), std::nullopt);
  }
  std::stable_sort(found.begin(), found.end(), [](const GoodputLever& x, const GoodputLever& y) {
    return x.goodput > y.goodput;
  });
  return found;
}

std::vector<ComponentStops> components_of(const GoodputAnswer& a) {
  if (a.stops <= 0) return {};
  if (a.question.mtbf) return {{Component::Node, a.stops}};
  const FailureRecord& record = failure_record(a.question.record);
  std::vector<ComponentStops> found;
  for (const FailureCount& one : record.counts)
    found.push_back({one.component, a.stops * one.stops / record.stops()});
  return found;
}

std::string times_words(double times) {
  return times < 10 ? fmt::format("{:.2g}", times) : fmt::format("{:.0f}", times);
}

std::string percent(double share) { return readable_share(share); }

}  // namespace

const std::string_view kRestartSource =
    "Jiang et al., MegaScale (NSDI 2024): failures are detected and their nodes found in less than "
    "10 minutes; Kokolis et al. (HPCA 2025) assume 5 minutes to start a job again";

GoodputSubject goodput_subject(const Workload& workload, const Result& result) {
  return {workload.scenario, result, checkpoint_bytes(workload, result)};
}

GoodputAnswer goodput(const GoodputSubject& subject, const GoodputQuestion& q) {
  check_question(q);
  const Result& result = subject.result;
  const Cluster& cluster = subject.scenario.cluster;
  if (std::string why = reason_against_partial(subject, q); !why.empty()) {
    GoodputQuestion full = q;
    full.recovery = Recovery::Full;
    GoodputAnswer answer = goodput(subject, full);
    answer.fallback = std::move(why);
    return answer;
  }
  const Balance b = balance(subject, q, {.forgiving = false});
  if (!(b.goodput() > kLeastGoodput)) refuse_hopeless(q, b.training, b.least, b.times.load);
  check_counts(b, q);
  GoodputAnswer a;
  a.question = q;
  a.model = result.model_name, a.cluster = result.cluster_name;
  a.devices = cluster.count, a.nodes = nodes(cluster);
  a.counts_tokens = result.counts_tokens;
  if (!result.verdict.fits) a.misfit = result.verdict.sentence;
  a.bytes = subject.bytes;
  a.times = b.times, a.training = b.training;
  a.step = to_seconds(result.step.value);
  a.young = young_interval(b.training), a.daly = daly_interval(b.training);
  a.best = b.training.keeps_work ? kForever : best_interval(b.training);
  a.least = b.least, a.interval = b.interval;
  a.lost = b.lost, a.waiting = b.waiting;
  a.goodput.value = b.goodput();
  a.replaced_share = b.replaced_share;
  a.spares_for_a_thousandth = spares_for(kFewWaits, b.replaced_share / b.training.mtbf, q.repair);
  a.undisturbed = training_cost(phases_of(result), q.work);
  a.cost = disturbed(a.undisturbed, a, result);
  a.phases = phases_with_failures(a, result);
  a.stops = a.cost.seconds.value * (1 - a.waiting) / a.training.mtbf;
  a.by_component = components_of(a);
  if (q.recovery == Recovery::Partial && std::isfinite(a.interval))
    a.lost_samples =
        portion_of_lost_samples(a.interval, a.training.mtbf, static_cast<double>(a.nodes));
  if (q.recovery == Recovery::Peers) {
    const double node = a.training.restart / a.training.mtbf / static_cast<double>(a.nodes);
    a.copies_lost = std::pow(-std::expm1(-node), static_cast<double>(q.copies - 1));
  }
  a.curve = curve_of(a);
  a.levers = levers_of(subject, a);
  draw_band(a);
  a.drawn = draw_weeks(weeks_of(a, static_cast<double>(q.weeks) * kWeek, q.seed), true);
  return a;
}

std::string long_time(double seconds) {
  if (!std::isfinite(seconds)) return "never";
  if (seconds < 60) return seconds > 0 ? readable(trainyard::seconds(seconds)) : "0 s";
  if (seconds < kHour) return fmt::format("{:.3g} min", seconds / 60);
  if (seconds < 2 * kDay) return fmt::format("{:.3g} h", seconds / kHour);
  return readable_days(seconds);
}

std::vector<std::string> goodput_sentences(const GoodputAnswer& a) {
  std::vector<std::string> found;
  if (!a.misfit.empty()) found.push_back(a.misfit);
  if (!a.fallback.empty()) found.push_back(a.fallback);
  if (std::isinf(a.training.mtbf)) {
    found.push_back(
        fmt::format("Nothing fails: {} of the time is useful, and {} are what the steps take.",
                    percent(a.goodput.value), readable_days(a.cost.seconds.value)));
    return found;
  }
  found.push_back(fmt::format("A job on {} stops every {}, {} in {}; {} of that time is useful.",
                              counted(a.devices, "device"), long_time(a.training.mtbf),
                              counted(std::llround(a.stops), "time"),
                              long_time(a.cost.seconds.value), percent(a.goodput.value)));
  const double wall = a.goodput.value;
  found.push_back(fmt::format(
      "Of the time, {} goes into saving, {} into work that is done again, {} into restarts and {} "
      "into waiting for nodes.",
      percent(a.lost.saving * wall), percent(a.lost.repeating * wall),
      percent(a.lost.restarting * wall), percent(a.waiting)));
  if (a.training.keeps_work)
    found.push_back(
        fmt::format("A failure takes back one of {} shards, a node's, and {} of samples are lost.",
                    a.nodes, percent(a.lost_samples.value_or(0))));
  else if (a.question.interval && std::isfinite(a.best))
    found.push_back(fmt::format("It saves every {}; the best interval is {}.",
                                long_time(a.interval), long_time(std::max(a.best, a.least))));
  else
    found.push_back(fmt::format(
        "It saves every {}, {}, which is {}; Young's formula says {}, Daly's {}.",
        long_time(a.interval),
        counted(std::max<long long>(1, std::llround(a.interval / a.step)), "step"),
        a.best < a.least ? "as soon as the save before has left, or a step is over" : "the best",
        long_time(a.young), long_time(a.daly)));
  if (a.copies_lost)
    found.push_back(fmt::format(
        "With {} copies, {:.2g} % of failures also take the last one; only then storage is read.",
        a.question.copies, 100 * *a.copies_lost));
  if (!a.question.spares)
    found.push_back(fmt::format(
        "Spare nodes are taken to be enough; {} of them {} the job from waiting for more than "
        "0.1 % of the time.",
        a.spares_for_a_thousandth, a.spares_for_a_thousandth == 1 ? "keeps" : "keep"));
  // A gain that no digit shows is none that anybody would pay for.
  if (!a.levers.empty() && percent(a.levers.front().goodput) != percent(a.goodput.value)) {
    const GoodputLever& best = a.levers.front();
    found.push_back(
        fmt::format("Most is gained by {}: {} of the time would be useful, and {} of "
                    "what is lost would be left.",
                    best.name, percent(best.goodput), percent(best.left)));
  }
  for (const GoodputLever& lever : a.levers)
    if (lever.halves_at && lever.name.starts_with("storage"))
      found.push_back(fmt::format("Storage {} times as fast halves what is lost.",
                                  times_words(*lever.halves_at)));
    else if (lever.name.starts_with("storage"))
      found.emplace_back("Storage alone cannot halve what is lost, however fast it is.");
  return found;
}

std::vector<std::string> goodput_leaves_out(const GoodputAnswer& a) {
  std::vector<std::string> found = {
      "planned maintenance, failures that come in clusters or early in a machine's life, and "
      "silent errors that are found late",
      "what steps are slower by while a save leaves, and steps after a restart that are slower",
      "nodes that work on slowly instead of failing"};
  if (a.question.recovery == Recovery::Peers)
    found.emplace_back("storage that is read where all copies are lost");
  if (a.training.keeps_work) found.emplace_back("what lost samples cost in accuracy");
  return found;
}

std::vector<std::string> goodput_sources(const GoodputAnswer& a) {
  std::vector<std::string> found;
  if (a.question.mtbf)
    found.emplace_back("The time between failures was given.");
  else if (a.question.record != kNoFailures)
    found.push_back("Failures: " + std::string(failure_record(a.question.record).source) + ".");
  const GoodputQuestion usual;
  if (a.question.storage == usual.storage)
    found.push_back("Storage: " + std::string(kStorageSource) + ".");
  if (a.question.detection == usual.detection && a.question.scheduling == usual.scheduling)
    found.push_back("Restarts: " + std::string(kRestartSource) + ".");
  if (a.question.spares && a.question.repair == usual.repair)
    found.emplace_back("A repair of a day is assumed.");
  found.emplace_back(
      "Overhead: the exact mean for exponential failures; intervals after Young (1974) and Daly "
      "(2006); waits for nodes by Erlang's loss formula.");
  return found;
}

}  // namespace trainyard
