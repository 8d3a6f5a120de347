#include "app/desktop/planner/plan_table.h"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QStackedWidget>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>

#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/planner/fate_list.h"
#include "app/desktop/planner/strip_panel.h"
#include "app/desktop/tables/table.h"
#include "app/workspace/plans/plan_points.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

enum Column {
  kNumber,
  kFateColumn,
  kSchedule,
  kTp,
  kPp,
  kDp,
  kMicro,
  kZero,
  kRecompute,
  kElse,
  kStep,
  kToBest,
  kPeak,
  kSpare,
  kBubble,
  kExposed
};
const QStringList kHeads = {"#",        "outcome", "schedule",  "TP",     "PP",   "DP",
                            "mb",       "ZeRO",    "recompute", "other",  "step", "vs best",
                            "reserved", "spare",   "bubble",    "exposed"};
constexpr int kWidths[] = {40, 76, 104, 36, 36, 38, 38, 50, 84, 60, 82, 66, 74, 74, 62, 68};
constexpr int kId = Qt::UserRole;

std::string knob_value(const PlanSpace& space, PlanId id, std::string_view key) {
  const std::size_t k = space.knob(key);
  return k < space.knobs().size() ? space.value(id, k) : "";
}

// The values of knobs that vary and have no column of their own.
QString other_words(const PlanSpace& space, PlanId id) {
  static constexpr std::string_view kOwn[] = {"tp",   "pp",        "dp",       "micro-batch",
                                              "zero", "recompute", "schedule", "virtual-stages"};
  QStringList words;
  for (std::size_t k = 0; k < space.knobs().size(); ++k) {
    const Knob& knob = space.knobs()[k];
    if (knob.values.size() < 2 ||
        std::find(std::begin(kOwn), std::end(kOwn), knob.key) != std::end(kOwn))
      continue;
    // Values that most plans share are left out.
    const std::string& value = space.value(id, k);
    if (value == knob.values.front()) continue;
    words << q(knob.key + " " + value);
  }
  return words.join(", ");
}

}  // namespace

PlanTable::PlanTable(QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* bar = new Header("Plans");
  kind_ = new Segment("Which plans", {"Best", "Front", "Filtered", "Knobs"});
  found_ = make_label("", 11, QFont::Normal, "second");
  clear_ = new QPushButton("Clear filter");
  clear_->setAccessibleName("Clear the filter");
  copy_ = new QPushButton("Copy CSV");
  copy_->setAccessibleName("Copy the table as CSV");
  for (QPushButton* button : {clear_, copy_}) button->setProperty("kind", "small");
  kind_->set_current(Best);
  bar->row()->addWidget(found_);
  bar->row()->addWidget(clear_);
  bar->row()->addWidget(copy_);
  bar->row()->addWidget(kind_);
  bar->setFixedHeight(32);
  column->addWidget(bar);
  table_ = make_table("Plans", kHeads, {});
  table_->setSortingEnabled(true);
  table_->header()->setSectionResizeMode(0, QHeaderView::Interactive);
  for (int c = 0; c < kHeads.size(); ++c) {
    table_->setColumnWidth(c, kWidths[c]);
    const bool words = c == kFateColumn || c == kSchedule || c == kRecompute || c == kElse;
    table_->headerItem()->setTextAlignment(
        c, (words ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  }
  for (const int c : {kBubble, kExposed})
    table_->headerItem()->setToolTip(
        c, "Share of device time, by the closed form, mean over the pipeline's ranks");
  table_->header()->setSectionResizeMode(kElse, QHeaderView::Stretch);
  strips_ = new StripPanel;
  pages_ = new QStackedWidget;
  pages_->addWidget(table_);
  pages_->addWidget(strips_);
  column->addWidget(pages_, 1);
  connect(kind_, &Segment::chosen, this, &PlanTable::fill);
  connect(clear_, &QPushButton::clicked, this, &PlanTable::cleared);
  connect(copy_, &QPushButton::clicked, this,
          [this] { QApplication::clipboard()->setText(table_csv(table_)); });
  connect(table_, &QTreeWidget::currentItemChanged, this, [this](QTreeWidgetItem* item) {
    if (item != nullptr) Q_EMIT chosen(item->data(0, kId).toULongLong());
  });
  connect(table_, &QTreeWidget::itemActivated, this, &PlanTable::opened);
  fill();
}

void PlanTable::show_plans(std::shared_ptr<const PlanFindings> findings) {
  findings_ = std::move(findings);
  fill();
}

void PlanTable::filter(const PlanFilter& filter) {
  const bool before = filter_.any();
  filter_ = filter;
  if (filter.any() != before) kind_->set_current(filter.any() ? Filtered : Best);
  fill();
}

std::vector<std::size_t> PlanTable::filtered(std::size_t& all) const {
  const SearchResult& found = findings_->result;
  std::vector<std::size_t> kept;
  std::size_t point = 0;
  const ParetoModel& picture = findings_->picture;
  for (std::size_t i = 0; i < found.ids.size(); ++i) {
    while (point < picture.points.size() && picture.points[point].id < found.ids[i]) ++point;
    const bool drawn = point < picture.points.size() && picture.points[point].id == found.ids[i];
    const Fate fate = found.plans[i].fate;
    if (filter_.fate ? fate != *filter_.fate : !fits(fate) && !filter_.brush.brush) continue;
    if (filter_.brush.brush && !(drawn && in_brush(picture, picture.points[point], filter_.brush)))
      continue;
    kept.push_back(i);
  }
  all = kept.size();
  const auto most = static_cast<std::size_t>(kMostRows);
  const auto quicker = [&](std::size_t a, std::size_t b) {
    return std::pair(found.plans[a].step, a) < std::pair(found.plans[b].step, b);
  };
  const auto end = kept.begin() + static_cast<std::ptrdiff_t>(std::min(most, kept.size()));
  std::partial_sort(kept.begin(), end, kept.end(), quicker);
  kept.resize(std::min(most, kept.size()));
  return kept;
}

void PlanTable::fill() {
  pages_->setCurrentIndex(kind_->current() == Knobs ? 1 : 0);
  const QSignalBlocker quiet(table_);
  table_->setSortingEnabled(false);
  table_->clear();
  clear_->setVisible(filter_.any());
  copy_->setEnabled(findings_ != nullptr);
  if (findings_ == nullptr) return found_->clear();
  const SearchResult& found = findings_->result;
  const auto candidates = [&](std::vector<Candidate> list, bool by_time) {
    // Some are simulated and some are not: after the best, what is shown decides.
    if (by_time && !list.empty())
      std::stable_sort(list.begin() + 1, list.end(),
                       [](const Candidate& a, const Candidate& b) { return a.time() < b.time(); });
    int number = 0;
    for (const Candidate& c : list)
      if (const PricedPlan* plan = found.find(c.id)) {
        ++number;
        if (filter_.fate && plan->fate != *filter_.fate) continue;
        add_row(number, c.id, *plan, &c);
      }
    found_->setText(list.empty() ? "no plan fits" : QString("%1 plans").arg(number));
  };
  switch (kind_->current()) {
    case Knobs:
      found_->setText("each knob of the chosen plan turned alone");
      return;
    case Front:
      candidates(found.front, false);  // numbered as in the picture
      break;
    case Filtered: {
      std::size_t all = 0;
      int number = 0;
      const auto known = [&](std::size_t i) -> const Candidate* {
        for (const std::vector<Candidate>* list : {&found.best, &found.front})
          for (const Candidate& c : *list)
            if (c.id == found.ids[i]) return &c;
        return nullptr;
      };
      // Shows simulated figures if there are any.
      std::vector<std::pair<std::size_t, const Candidate*>> rows;
      for (const std::size_t i : filtered(all)) rows.emplace_back(i, known(i));
      const auto time = [&](const auto& row) {
        return row.second != nullptr ? row.second->time() : found.plans[row.first].step;
      };
      std::stable_sort(rows.begin(), rows.end(),
                       [&](const auto& a, const auto& b) { return time(a) < time(b); });
      for (const auto& [i, candidate] : rows)
        add_row(++number, found.ids[i], found.plans[i], candidate);
      const QString count = q(format_count(static_cast<std::int64_t>(all)));
      found_->setText(all > static_cast<std::size_t>(kMostRows)
                          ? QString("the first %1 of %2 plans").arg(kMostRows).arg(count)
                          : count + " plans");
      break;
    }
    default:
      candidates(found.best, findings_->wish.objective == PlanObjective::Time);
  }
  table_->sortByColumn(kNumber, Qt::AscendingOrder);
  table_->setSortingEnabled(true);
}

void PlanTable::add_row(int number, PlanId id, const PricedPlan& plan, const Candidate* known) {
  const PlanSpace& space = *findings_->space;
  const auto word = [&](const char* key) { return q(knob_value(space, id, key)); };
  const bool pipeline = word("pp") != "1", priced = legal(plan.fate) && plan.step > Duration{};
  const QString chunks = word("virtual-stages");
  const Duration step = known != nullptr ? known->time() : plan.step;
  const QString least = plan.bound ? QString::fromUtf8("≥ ") : QString();
  auto* row = new SortedRow(table_);
  row->setData(0, kId, QVariant::fromValue<qulonglong>(id));
  row->setSizeHint(0, QSize(0, kTableRow));
  const auto put = [&](int c, const QString& text, std::optional<double> figure = {}) {
    row->setText(c, text);
    const bool words = c == kFateColumn || c == kSchedule || c == kRecompute || c == kElse;
    row->setTextAlignment(c, (words ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    if (figure) row->set_figure(c, *figure);
  };
  put(kNumber, QString::number(number), number);
  put(kFateColumn, q(std::string(to_string(plan.fate))));
  put(kSchedule, !pipeline ? QString("no pipeline")
                           : word("schedule") +
                                 (chunks == "1" ? QString() : QString::fromUtf8(" ×") + chunks));
  put(kTp, word("tp"), word("tp").toDouble());
  put(kPp, word("pp"), word("pp").toDouble());
  const auto dp = static_cast<double>(data_ranks(space, id));
  put(kDp, QString::number(static_cast<qlonglong>(dp)), dp);
  put(kMicro, word("micro-batch"), word("micro-batch").toDouble());
  put(kZero, word("zero"), word("zero").toDouble());
  put(kRecompute, word("recompute"));
  put(kElse, other_words(space, id));
  row->setToolTip(kElse, row->text(kElse));
  if (!priced) return;
  const double seconds = to_seconds(step), bytes = static_cast<double>(plan.memory.value);
  put(kStep, least + q(format_step_time(step)), seconds);
  if (known != nullptr)
    row->setToolTip(kStep,
                    known->simulated > Duration{}
                        ? "simulated; " + q(format_step_time(known->step)) + " by the closed form"
                        : "by the closed form");
  const auto& best = findings_->result.best;
  if (!best.empty()) {
    const double more = seconds / to_seconds(best.front().time()) - 1;
    put(kToBest, best.front().id == id ? "best" : q(format_signed(100 * more, 1)) + " %", more);
  }
  const QString least_bytes = plan.fate == Fate::Memory ? least : QString();
  put(kPeak, least_bytes + q(format_bytes(plan.memory)), bytes);
  const double spare = findings_->picture.capacity - bytes;
  put(kSpare, q(format_bytes(Bytes{static_cast<std::int64_t>(spare)})), spare);
  if (spare < 0) row->setForeground(kSpare, qcolor(Ink::Error, current_theme()));
  if (known == nullptr) return;
  const double bubble = bubble_fraction(known->device_time),
               exposed = exposed_communication_fraction(known->device_time);
  put(kBubble, q(format_percent(bubble)), bubble);
  put(kExposed, q(format_percent(exposed)), exposed);
  if (plan.fate == Fate::Best)
    for (int c = 0; c < kHeads.size(); ++c) row->setFont(c, ui_font(12, QFont::DemiBold));
}

void PlanTable::choose(std::optional<PlanId> id) {
  strips_->show_plan(findings_, id);
  const QSignalBlocker quiet(table_);
  table_->setCurrentItem(nullptr);
  if (!id) return;
  for (int i = 0; i < table_->topLevelItemCount(); ++i)
    if (table_->topLevelItem(i)->data(0, kId).toULongLong() == *id)
      table_->setCurrentItem(table_->topLevelItem(i));
}

}  // namespace trainyard
