#include "app/desktop/shell/inspector.h"

#include <QHeaderView>
#include <QLabel>
#include <QTableWidget>
#include <QVBoxLayout>

#include "app/desktop/controls/readings.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "visualizers/time/timeline_model.h"
#include "visualizers/timeline/timeline_view.h"
#include "visualizers/view_data.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

Bytes memory_change(const Program& program, const Task& task) {
  Bytes change{};
  for (std::uint32_t i = 0; i < task.effects; ++i) {
    const MemoryEffect& effect = program.effects[task.first_effect + i];
    const Bytes bytes = program.buffers[effect.buffer.value].bytes;
    effect.allocate ? change += bytes : change -= bytes;
  }
  return change;
}

}  // namespace

QList<std::pair<QString, QString>> facts_of(const TimelineModel& model, InstructionId id) {
  const Experiment& run = *model.experiment;
  const Task& task = run.program.task(id);
  const Span span = run.timeline.spans[id.value];
  QList<std::pair<QString, QString>> facts = {
      {"Start", q(format_duration(span.start))},
      {"Duration", q(format_duration(span.length()))},
      {"Share",
       q(format_percent(to_seconds(span.length()) / std::max(1e-12, to_seconds(model.end)))) +
           " of the run"},
  };
  const std::size_t t = run.program.instructions[id.value].task.value;
  if (task.kind == TaskKind::Compute && t < run.prices.flops.size()) {
    const Flops flops = run.prices.flops[t];
    facts << std::pair<QString, QString>{"FLOP", q(format_flops(flops))};
    const double rate = flops.value / std::max(1e-12, to_seconds(span.length()));
    facts << std::pair<QString, QString>{
        "Rate", q(format_throughput({rate})) + ", " +
                    q(format_percent(rate / std::max(1.0, run.result.peak_flops.value))) +
                    " of peak"};
  }
  if (task.kind == TaskKind::Collective || task.kind == TaskKind::Send)
    facts << std::pair<QString, QString>{"Bytes",
                                         q(format_bytes(Bytes{task.bytes.value * task.repeats}))};
  if (const Bytes change = memory_change(run.program, task); change.value != 0)
    facts << std::pair<QString, QString>{"Memory", q(format_bytes(change))};
  if (const InstructionId cause = awaited(run, id); cause.valid())
    facts << std::pair<QString, QString>{"Waits for", q(describe(run.program, cause))};
  facts << std::pair<QString, QString>{"Source", source_text(run.result)};
  return facts;
}

Inspector::Inspector(Session& session, QWidget* parent) : QWidget(parent), session_(session) {
  setObjectName("panel");
  setAttribute(Qt::WA_StyledBackground);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(12, 10, 8, 4);
  column->setSpacing(3);
  title_ = make_label("", 13, QFont::DemiBold);
  title_->setWordWrap(true);
  where_ = make_label("", 12, QFont::Normal, "second");
  where_->setWordWrap(true);
  facts_ = new QTableWidget(0, 2);
  facts_->setAccessibleName("Facts about the selection");
  facts_->horizontalHeader()->hide();
  facts_->verticalHeader()->hide();
  facts_->verticalHeader()->setMinimumSectionSize(20);
  facts_->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Fixed);
  facts_->horizontalHeader()->setStretchLastSection(true);
  facts_->setTextElideMode(Qt::ElideNone);  // long texts are wrapped
  // This is deferred, because a scroll bar that appears narrows the column during layout.
  connect(facts_->horizontalHeader(), &QHeaderView::sectionResized, facts_,
          &QTableView::resizeRowsToContents, Qt::QueuedConnection);
  facts_->setShowGrid(false);
  facts_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  facts_->setSelectionMode(QAbstractItemView::NoSelection);
  facts_->setTabKeyNavigation(false);
  facts_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  column->addWidget(title_);
  column->addWidget(where_);
  column->addSpacing(4);
  column->addWidget(facts_, 1);
  connect(&session_, &Session::selection_changed, this, &Inspector::refresh);
  connect(&session_, &Session::experiment_changed, this, &Inspector::refresh);
  refresh();
}

void Inspector::show_facts(const QList<std::pair<QString, QString>>& facts) {
  facts_->setRowCount(static_cast<int>(facts.size()));
  facts_->verticalHeader()->setDefaultSectionSize(ui_pixels(20));
  int names = ui_pixels(80);  // as wide as the longest name, also in a presentation
  for (const auto& fact : facts)
    names = std::max(names, facts_->fontMetrics().horizontalAdvance(fact.first) + ui_pixels(12));
  facts_->setColumnWidth(0, names);
  for (int row = 0; row < facts.size(); ++row) {
    auto* name = new QTableWidgetItem(facts[row].first);
    name->setForeground(qcolor(Ink::Text2, current_theme()));
    name->setTextAlignment(Qt::AlignLeft | Qt::AlignTop);
    facts_->setItem(row, 0, name);
    auto* value = new QTableWidgetItem(facts[row].second);
    value->setToolTip(facts[row].second);
    value->setTextAlignment(Qt::AlignLeft | Qt::AlignTop);
    facts_->setItem(row, 1, value);
  }
  facts_->resizeRowsToContents();
}

void Inspector::refresh() {
  const Item item = session_.state().selected;
  if (session_.data() == nullptr || item.kind == ItemKind::None) {
    title_->setText(session_.data() == nullptr ? "Nothing selected" : "The whole step");
    where_->setText("Click a box of the timeline to pin what it is.");
    return show_facts(session_.data() == nullptr ? QList<std::pair<QString, QString>>{}
                                                 : banded_figures(session_.experiment()->result));
  }
  const Hover hover = describe_timeline(session_.data()->get<TimelineModel>(), {0, 0, 1000, 1000},
                                        session_.state(), item);
  title_->setText(q(hover.title));
  where_->setText(q(hover.where));
  QList<std::pair<QString, QString>> facts;
  if (item.kind == ItemKind::Span) {
    facts = facts_of(session_.data()->get<TimelineModel>(),
                     InstructionId{static_cast<std::uint32_t>(item.tag)});
  } else {
    if (!hover.value.empty()) facts << std::pair<QString, QString>{"Value", q(hover.value)};
    for (const std::string& line : hover.lines) facts << std::pair<QString, QString>{"", q(line)};
  }
  show_facts(facts);
}

}  // namespace trainyard
