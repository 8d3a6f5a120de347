#include "app/desktop/tables/reading_tables.h"

#include <QTreeWidget>

#include <algorithm>
#include <cstdio>

#include "app/desktop/controls/swatch.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/tables/table.h"
#include "core/result/figures.h"
#include "core/timeline/compare.h"
#include "core/timeline/metrics.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/time/memory_model.h"
#include "visualizers/time/timeline_model.h"
#include "visualizers/view_data.h"
#include "visualizers/viewmodel/format.h"
#include "visualizers/viewmodel/period_statistics.h"
#include "visualizers/waves/wave_traffic.h"

namespace trainyard {
namespace {

constexpr int kMostRows = 200;

QString owner_of(const Buffer& buffer) {
  QString owner = QString("stage %1").arg(buffer.stage.value);
  if (buffer.layer >= 0) owner += QString(", layer %1").arg(buffer.layer);
  return owner;
}

QString two_decimals(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.2f", value);
  return QString(digits).replace('-', QChar(0x2212));
}

Ink ink_of_part(std::string_view name) {
  if (name == "forward") return Ink::Forward;
  if (name == "backward") return Ink::Backward;
  if (name == "recompute") return Ink::Recompute;
  if (name == "optimizer") return Ink::Optimizer;
  if (name == "bubble" || name == "allocator" || name == "input" || name == "slower devices")
    return Ink::Idle;
  return Ink::Communication;
}

}  // namespace

QTreeWidget* make_alive_table() {
  return make_table("Alive at the cursor",
                    {"What", "Owner", "Category", "Copies", "Bytes", "Of all"}, {360, 150, 140});
}

QString fill_alive(QTreeWidget* table, const Session& session, const Exploration& exploration) {
  table->clear();
  if (!session.experiment()) return "Alive at t";
  const Experiment& run = *session.experiment();
  const auto& pinned = exploration.pinned();
  const DeviceId device =
      pinned ? pinned->device : DeviceId{static_cast<std::uint32_t>(session.selected_rank())};
  const Instant at = pinned ? pinned->at : session.state().cursor.value_or(run.result.verdict.at);
  const std::vector<Alive> list = alive_at(run.timeline, run.program, device, at);
  Bytes all{};
  for (const Alive& a : list) all += a.bytes;
  for (const Alive& a : list) {
    if (table->topLevelItemCount() >= kMostRows) break;
    const Buffer& buffer = run.program.buffers[a.buffer.value];
    auto* item = add_table_row(
        table, {q(run.program.name(buffer.name)), owner_of(buffer),
                q(to_string(buffer.category)).replace('_', ' '), QString::number(a.instances),
                q(format_bytes(a.bytes)), q(format_percent(a.bytes / std::max(all, 1_B)))});
    item->setIcon(0, swatch_icon(ink_of(buffer.category)));
    item->setData(0, Qt::UserRole, a.buffer.value);
    item->setToolTip(0, "Enter or double click draws when it lives on the timeline");
  }
  return QString("Alive at %1 on rank %2, %3")
      .arg(q(instant_text(at, session.end())))
      .arg(device.value)
      .arg(q(format_bytes(all)));
}

QTreeWidget* make_wave_table() {
  return make_table("Memory over the range",
                    {"Rank", "Minimum", "Mean", "Peak", "Amplitude", "Mean / peak", "Taken anew",
                     "Sent", "Correlation", "Headroom"},
                    {160});
}

QString fill_waves(QTreeWidget* table, const Session& session) {
  table->clear();
  if (session.data() == nullptr) return "Waves";
  const MemoryModel& memory = session.data()->get<MemoryModel>();
  const TimelineModel& timeline = session.data()->get<TimelineModel>();
  const TimeRange range = session.range();
  const DeviceId large = session.state().expanded.value_or(memory.worst);
  for (std::uint32_t d = 0; d < memory.totals.size(); ++d) {
    if (table->topLevelItemCount() >= kMostRows) break;
    const StepCurve& curve = memory.totals[d];
    const WaveStatistics s = wave_statistics(curve, range.from, range.to);
    const std::int64_t spare =
        capacity_of(session.experiment()->result, DeviceId{d}).value - s.highest;
    const QString against =
        DeviceId{d} == large || large.value >= memory.totals.size()
            ? QString(QChar(0x2013))
            : two_decimals(correlation(curve, memory.totals[large.value], range.from, range.to));
    const double whole = static_cast<double>(std::max<std::int64_t>(1, s.highest));
    add_table_row(table, {q(timeline.ranks[d].name), q(format_bytes({s.lowest})),
                          q(format_bytes({static_cast<std::int64_t>(s.mean)})),
                          q(format_bytes({s.highest})), q(format_bytes({s.amplitude()})),
                          q(format_percent(s.mean / whole)), q(format_bytes({s.risen})),
                          q(format_bytes(sent_within(timeline, DeviceId{d}, range))), against,
                          q(format_bytes({spare}))});
  }
  table->headerItem()->setToolTip(
      8, QString("of the memory with that of %1, over time: \u22121 where one falls as the other "
                 "rises")
             .arg(q(rank_name(session.experiment()->program, large))));
  return QString("Waves");
}

QTreeWidget* make_path_table() {
  return make_table("Critical path by category", {"Part", "Time", "Of the run"}, {400});
}

QString fill_path(QTreeWidget* table, const Session& session) {
  table->clear();
  if (session.data() == nullptr) return "Critical path";
  const TimelineModel& model = session.data()->get<TimelineModel>();
  const Experiment& run = *model.experiment;
  const Breakdown parts =
      breakdown(model.path, run.timeline, run.program, run.prices.recompute_share);
  const double whole = std::max(1e-12, to_seconds(model.end));
  for (const NamedPart& part : breakdown_parts()) {
    const Duration time = parts.*part.part;
    if (time == Duration{}) continue;
    const QString name =
        part.name == "bubble" ? QString("waiting for nothing that ran") : q(part.name);
    auto* item = add_table_row(
        table, {name, q(format_step_time(time)), q(format_percent(to_seconds(time) / whole))});
    item->setIcon(0, swatch_icon(ink_of_part(part.name)));
  }
  add_table_row(table, {"the whole run", q(format_step_time(parts.sum())), q(format_percent(1))});
  return QString("Critical path   %1 steps")
      .arg(q(format_count(static_cast<std::int64_t>(model.path.steps.size()))));
}

}  // namespace trainyard
