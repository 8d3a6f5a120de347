#include "visualizers/synchrony/synchrony_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "visualizers/chart/curve_view.h"
#include "visualizers/chart/staleness_histogram.h"

namespace trainyard {
namespace {

constexpr float kSynchronyWidth = 900, kSynchronyHeight = 420;
constexpr std::size_t kMostBarsDrawn = 48;

CurveModel waiting_curve(const StragglingAnswer& a) {
  CurveModel curve;
  curve.title = fmt::format("Mean time of a step in medians, spread {}", a.question.sigma);
  curve.x_label = "replicas";
  curve.log_x = true;
  CurveModel::Line every{"wait in every step", Ink::Communication, {}},
      gumbel{"by Gumbel's approximation", Ink::Text3, {}, true},
      seldom{fmt::format("wait once in {} steps", a.question.period), Ink::Optimizer, {}},
      never{"never wait", Ink::Forward, {}};
  for (const StragglingRow& row : a.rows) {
    curve.x.push_back(static_cast<double>(row.replicas));
    curve.x_names.push_back(std::to_string(row.replicas));
    every.values.push_back(row.slowest);
    gumbel.values.push_back(row.gumbel);
    seldom.values.push_back(row.of_period);
    never.values.push_back(row.mean);
  }
  curve.lines = {std::move(every), std::move(gumbel), std::move(seldom), std::move(never)};
  curve.now = static_cast<double>(a.question.replicas);
  return curve;
}

CurveModel threads_curve(const HogwildStudy& s) {
  CurveModel curve;
  curve.title = fmt::format("Updates a second on {} cores, over one thread alone", s.cores);
  curve.x_label = "threads";
  curve.log_x = true;
  for (const HogwildRow& row : s.rows)
    if (!row.dense && row.how == Sharing::Hogwild) {
      curve.x.push_back(row.threads);
      curve.x_names.push_back(std::to_string(row.threads));
    }
  for (const bool dense : {false, true})
    for (const Sharing how : {Sharing::Hogwild, Sharing::Locked}) {
      CurveModel::Line one{fmt::format("{}, {}", dense ? "all features" : "few features",
                                       how == Sharing::Hogwild ? "no locks" : "one lock"),
                           dense ? Ink::Backward : Ink::Forward,
                           {},
                           how == Sharing::Locked};
      for (const HogwildRow& row : s.rows)
        if (row.dense == dense && row.how == how) one.values.push_back(row.gain);
      curve.lines.push_back(std::move(one));
    }
  return curve;
}

StalenessBars bars_of(const SynchronyModel& m) {
  return staleness_bars(m.replicas.staleness.counts, kMostBarsDrawn);
}

CurveModel synchrony_curve(const SynchronyModel& m) {
  return m.picture == SynchronyPicture::Threads ? threads_curve(*m.threads)
                                                : waiting_curve(m.replicas);
}

}  // namespace

void draw_synchrony(Drawing& drawing, const Rect& area, const SynchronyModel& m, const ViewState&) {
  if (m.picture == SynchronyPicture::Staleness) {
    const std::int64_t expected = m.replicas.question.replicas - 1;
    return draw_staleness(drawing, area,
                          fmt::format("Changes that a server of {} replicas has taken since the "
                                      "fetch of the one that pushes",
                                      m.replicas.question.replicas),
                          bars_of(m), expected);
  }
  if (m.picture == SynchronyPicture::Threads && m.threads == nullptr) return;
  // A curve of one point is none: one thread has no other to be compared with.
  const CurveModel curve = synchrony_curve(m);
  if (curve.x.size() > 1) draw_curve(drawing, area, curve);
}

Hover describe_synchrony(const SynchronyModel& m, Item item) {
  if (item.kind != ItemKind::Dot) return {};
  if (m.picture == SynchronyPicture::Staleness) {
    const StalenessBars found = bars_of(m);
    if (item.tag >= found.bars.size()) return {};
    return {bar_words(found.bars[item.tag]), "", "", {}};
  }
  if (m.picture == SynchronyPicture::Threads && m.threads == nullptr) return {};
  return describe_curve(synchrony_curve(m), item,
                        m.picture == SynchronyPicture::Threads ? "times" : "medians");
}

Drawing synchrony_picture(const SynchronyModel& m) {
  Drawing drawing({kSynchronyWidth, kSynchronyHeight});
  draw_synchrony(drawing, whole(drawing.size), m);
  return drawing;
}

DataTable synchrony_table(const SynchronyModel& m) {
  std::vector<std::vector<DataCell>> rows;
  if (m.picture == SynchronyPicture::Waiting) {
    for (const StragglingRow& row : m.replicas.rows)
      rows.push_back({row.replicas, row.slowest, row.gumbel, row.of_period, row.mean});
    return listed_table("Waiting",
                        {{"replicas", DataUnit::Count},
                         {"every step", DataUnit::Digits},
                         {"Gumbel", DataUnit::Digits},
                         {"once in a period", DataUnit::Digits},
                         {"never", DataUnit::Digits}},
                        std::move(rows));
  }
  if (m.picture == SynchronyPicture::Staleness) {
    for (const StaleBar& bar : bars_of(m).bars)
      rows.push_back(
          {static_cast<std::int64_t>(bar.from), static_cast<std::int64_t>(bar.to), bar.share});
    return listed_table(
        "Staleness",
        {{"from", DataUnit::Count}, {"to", DataUnit::Count}, {"share", DataUnit::Share}},
        std::move(rows));
  }
  for (const HogwildRow& row : m.threads ? m.threads->rows : std::vector<HogwildRow>{})
    rows.push_back({std::string(row.dense ? "all features" : "few features"),
                    std::string(to_string(row.how)), std::int64_t{row.threads},
                    row.updates_per_second, row.gain, row.loss, row.loss_ratio});
  return listed_table("Threads",
                      {{"samples", DataUnit::Words},
                       {"sharing", DataUnit::Words},
                       {"threads", DataUnit::Count},
                       {"updates", DataUnit::Rate},
                       {"gain", DataUnit::Digits},
                       {"loss", DataUnit::Digits},
                       {"of one alone", DataUnit::Digits}},
                      std::move(rows));
}

std::vector<std::string> synchrony_sentences(const SynchronyModel& m) {
  const StragglingQuestion& q = m.replicas.question;
  const StragglingRow& own = own_row(m.replicas);
  if (m.picture == SynchronyPicture::Waiting)
    return {fmt::format("{} replicas that wait for the slowest in every step take {:.3g} times as "
                        "long as they would if nobody waited.",
                        q.replicas, own.slowest / own.mean),
            fmt::format("Once in {} steps, {:.3g} times.", q.period, own.of_period / own.mean),
            fmt::format("Drawn steps take {:.3f} medians on average, and by formula {:.3f}.",
                        own.drawn.mean, own.slowest),
            q.exchange > 0 ? "Steps take log-normal times; exchanges of meetings are counted."
                           : "Steps take log-normal times; exchanges are not counted."};
  if (m.picture == SynchronyPicture::Staleness)
    return {fmt::format("A change is {:.3g} others old on average when the server takes it; "
                        "replicas that take equally long would have {}.",
                        m.replicas.staleness.mean, q.replicas - 1),
            fmt::format("Of {} drawn arrivals.", q.arrivals)};
  return m.threads ? hogwild_sentences(*m.threads) : std::vector<std::string>{};
}

}  // namespace trainyard
