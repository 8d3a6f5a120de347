#include "app/desktop/planner/space_panel.h"

#include <QIntValidator>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

#include "app/desktop/controls/chip_row.h"
#include "app/desktop/controls/icons.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/workspace/scenario/priced_scenario.h"
#include "core/base/error.h"
#include "core/methods/settings/settings.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

QString count_text(std::uint64_t n) { return q(format_count(static_cast<std::int64_t>(n))); }

struct Title {
  const char* key;
  const char* words;
};
// Listed in the order of the panel.
constexpr Title kRows[] = {{"tp", "Tensor"},
                           {"pp", "Pipeline"},
                           {"micro-batch", "Microbatch"},
                           {"zero", "ZeRO"},
                           {"schedule", "Schedule"},
                           {"virtual-stages", "Virtual stages"},
                           {"recompute", "Recompute"},
                           {"offload", "Offload"},
                           {"cp", "Context"},
                           {"ep", "Expert"},
                           {"etp", "Expert tensor"},
                           {"sequence-parallel", "Sequence parallel"},
                           {"rank-order", "Rank order"},
                           {"precision", "Precision"},
                           {"overlap", "Gradient overlap"},
                           {"tensor-overlap", "Tensor overlap"}};

QString title_of(const std::string& key) {
  for (const Title& t : kRows)
    if (key == t.key) return t.words;
  return q(key);
}

bool has_row(std::string_view key) {
  return std::any_of(std::begin(kRows), std::end(kRows),
                     [&](const Title& t) { return key == t.key; });
}

// Returns whether a setting belongs to one mesh, so that a search drops it: edited orders, splits,
// the data-parallel degree, and every knob that has a row.
bool given_up(std::string_view assignment) {
  const std::string_view typed = assignment.substr(0, assignment.find('='));
  const Setting* known = find_setting(typed);
  if (known == nullptr) return false;
  return known->key == "order" || known->key == "split" || known->key == "dp" ||
         has_row(known->key);
}

QWidget* section(const QString& title) {
  auto* bar = new QWidget;
  bar->setObjectName("section");
  bar->setAttribute(Qt::WA_StyledBackground);
  bar->setFixedHeight(26);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(10, 0, 10, 0);
  row->addWidget(make_label(title, 11, QFont::DemiBold));
  return bar;
}

}  // namespace

SpacePanel::SpacePanel(Document& document, Planning& planning, QWidget* parent)
    : QuestionPanel({"Search", "", "Plans tried", "", "Space of plans"}, 232, parent),
      document_(document),
      planning_(planning) {
  set_fields(make_fields());
  connect(&planning_, &Planning::changed, this, &SpacePanel::refresh_progress);
  refresh();
  refresh_progress();
}

QWidget* SpacePanel::make_fields() {
  auto* inside = new QWidget;
  auto* column = new QVBoxLayout(inside);
  column->setContentsMargins(0, 0, 0, 8);
  column->setSpacing(0);
  column->addWidget(section("Objective and limits"));
  column->addWidget(make_limits());
  column->addWidget(section("Space"));
  auto* space = new QWidget;
  auto* rows = new QVBoxLayout(space);
  rows->setContentsMargins(10, 6, 10, 8);
  rows->setSpacing(8);
  for (const Title& t : kRows) {
    add_row(t.key);
    rows->addWidget(rows_[t.key].box);
  }
  column->addWidget(space);
  column->addWidget(section("Fixed by the plan"));
  fixed_ = make_label("", 11, QFont::Normal, "second");
  fixed_->setContentsMargins(10, 6, 10, 6);
  fixed_->setWordWrap(true);
  column->addWidget(fixed_);
  column->addStretch(1);
  return inside;
}

QWidget* SpacePanel::make_limits() {
  auto* box = new QWidget;
  auto* column = new QVBoxLayout(box);
  column->setContentsMargins(10, 6, 10, 8);
  column->setSpacing(5);
  const auto line = [&](const QString& words, QWidget* field) {
    auto* row = new QHBoxLayout;
    row->addWidget(make_label(words, 12, QFont::Normal, "second"));
    row->addStretch(1);
    field->setFixedSize(104, kFieldHeight);
    row->addWidget(field);
    column->addLayout(row);
  };
  objective_ = new Field("Minimise");
  objective_->addItems({"step time", "peak memory", "money"});
  spare_ = new Field("Memory reserve per device");
  for (const char* text : {"none", "0.5 GiB", "1 GiB", "2 GiB", "4 GiB", "8 GiB"})
    spare_->addItem(text);
  batch_ = new QLineEdit;
  batch_->setAccessibleName("Global batch");
  batch_->setPlaceholderText("needed");
  sequence_ = new QLineEdit;
  sequence_->setAccessibleName("Sequence length");
  sequence_->setPlaceholderText("the model's");
  for (QLineEdit* edit : {batch_, sequence_}) {
    edit->setAlignment(Qt::AlignRight);
    edit->setValidator(new QIntValidator(1, 1'000'000'000, edit));
  }
  line("Minimise", objective_);
  line("Memory reserve", spare_);
  line("Global batch", batch_);
  line("Sequence", sequence_);
  for (Field* field : {objective_, spare_})
    connect(field, &QComboBox::activated, this, &SpacePanel::changed);
  const auto commit = [this](QLineEdit* edit, const char* key) {
    connect(edit, &QLineEdit::editingFinished, this, [this, edit, key] {
      const ProjectPlan* plan = document_.plan();
      if (plan == nullptr || edit->text().isEmpty() ||
          edit->text().toStdString() == own_setting(*plan, key))
        return;
      document_.set_setting(key, edit->text());
    });
  };
  commit(batch_, "global-batch");
  commit(sequence_, "seq");
  return box;
}

void SpacePanel::add_row(const std::string& key) {
  Row& row = rows_[key];
  row.box = new QWidget;
  auto* column = new QVBoxLayout(row.box);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(3);
  auto* head = new QHBoxLayout;
  head->setSpacing(4);
  head->addWidget(make_label(title_of(key), 11, QFont::Normal, "second"));
  head->addStretch(1);
  row.state = make_label("", 10, QFont::Normal, "third");
  head->addWidget(row.state);
  row.fix = new QToolButton;
  row.fix->setCheckable(true);
  row.fix->setFixedSize(18, 18);
  row.fix->setIconSize({12, 12});
  row.fix->setFocusPolicy(Qt::TabFocus);
  row.fix->setAccessibleName("Fix " + title_of(key) + " as in the plan");
  head->addWidget(row.fix);
  column->addLayout(head);
  row.chips = new ChipRow(title_of(key));
  column->addWidget(row.chips);
  connect(row.fix, &QToolButton::clicked, this, [this, key] { toggle_fixed(rows_[key]); });
  connect(row.chips, &ChipRow::changed, this, [this, key] {
    Row& changed_row = rows_[key];
    changed_row.mine = changed_row.chips->on();
    // A knob must keep at least one value.
    if (changed_row.mine->isEmpty()) changed_row.mine.reset();
    show_row(changed_row);
    Q_EMIT changed();
  });
}

void SpacePanel::toggle_fixed(Row& row) {
  if (row.mine == QStringList{row.own})
    row.mine.reset();
  else if (!row.own.isEmpty())
    row.mine = QStringList{row.own};
  show_row(row);
  Q_EMIT changed();
}

void SpacePanel::show_row(Row& row) {
  const QStringList on = row.mine.value_or(row.usual);
  row.chips->set_values(row.chips->values(), on, row.own);
  row.state->setText(on.size() == 1                           ? "fixed"
                     : on.size() < row.chips->values().size() ? "bounded"
                                                              : "free");
  const bool fixed = on == QStringList{row.own};
  row.fix->setChecked(fixed);
  row.fix->setEnabled(!row.own.isEmpty());
  row.fix->setIcon(icon("lock", qcolor(fixed ? Ink::AccentText : Ink::Text3, current_theme())));
  row.fix->setToolTip(fixed ? "Let it vary again" : "Fix it at the plan's " + row.own);
}

void SpacePanel::refresh() {
  const ProjectPlan* plan = document_.plan();
  std::optional<Scenario> base, whole;
  QString wrong;
  if (const auto asked = question()) {
    try {
      base = open(asked->request);
    } catch (const Error& error) {
      wrong = q(describe(error));
    }
    // A plan that cannot run can still start a search; it merely has no values to mark.
    try {
      whole = open(
          {document_.project().model, document_.project().cluster, plan->file, plan->settings});
      whole->plan = complete(*whole);
    } catch (const Error&) {
      whole.reset();
    }
  }
  show_wrong(wrong);
  run_->setEnabled(base.has_value() || planning_.running());
  for (auto& [key, row] : rows_) {
    row.box->setVisible(base.has_value());
    if (!base) continue;
    row.own = whole ? q(setting(whole->plan, key)) : QString();
    row.usual.clear();
    for (const std::string& value : default_values(*base, key)) row.usual << q(value);
    QStringList values = row.usual;
    if (const Setting* known = find_setting(key); values.size() == 1 && known != nullptr)
      for (const std::string_view word : known->values)
        if (!values.contains(q(word))) values << q(word);
    if (!row.own.isEmpty() && !values.contains(row.own)) values << row.own;
    if (row.mine) {
      QStringList kept;
      for (const QString& value : *row.mine)
        if (values.contains(value)) kept << value;
      row.mine = kept.isEmpty() ? std::nullopt : std::optional(kept);
    }
    row.box->setVisible(values.size() > 1);
    row.chips->set_values(values, row.mine.value_or(row.usual), row.own);
    show_row(row);
  }
  if (!batch_->hasFocus())
    batch_->setText(plan == nullptr ? "" : q(own_setting(*plan, "global-batch")));
  if (!sequence_->hasFocus())
    sequence_->setText(plan == nullptr ? "" : q(own_setting(*plan, "seq")));
  refresh_fixed(base ? &*base : nullptr);
}

void SpacePanel::refresh_fixed(const Scenario* base) {
  QStringList lines;
  if (base != nullptr) {
    lines << QString("devices %1").arg(base->cluster.count);
    if (base->plan.batch.global > 0)
      lines << QString("global batch %1").arg(base->plan.batch.global);
    for (const char* key : {"optimizer", "flash-attention", "hybrid"})
      if (const std::string value = setting(base->plan, key); !value.empty())
        lines << QString(key) + " " + q(value);
  }
  fixed_->setText(lines.isEmpty() ? "Open a model and a plan first." : lines.join("\n"));
}

std::optional<PlanQuestion> SpacePanel::question() const {
  const ProjectPlan* plan = document_.plan();
  if (plan == nullptr || document_.project().model.empty()) return std::nullopt;
  PlanQuestion asked;
  asked.request = {document_.project().model, document_.project().cluster, plan->file, {}};
  for (const std::string& assignment : plan->settings)
    if (!given_up(assignment)) asked.request.settings.push_back(assignment);
  if (!plan->file.empty())
    for (const char* reset : {"order=own", "split=even", "dp=rest"})
      asked.request.settings.emplace_back(reset);
  try {
    asked.calibration = calibration_for(document_.project().calibration, asked.request.cluster);
  } catch (const Error&) {
    // An error in the cluster is reported when the search starts.
  }
  for (const Title& t : kRows) {
    const Row& row = rows_.at(t.key);
    if (!row.mine || *row.mine == row.usual) continue;
    asked.bounds.push_back({t.key, row.mine->join(',').toStdString()});
  }
  return asked;
}

PlanWish SpacePanel::wish() const {
  PlanWish wish;
  wish.objective = static_cast<PlanObjective>(objective_->currentIndex());
  constexpr std::int64_t kHalves[] = {0, 1, 2, 4, 8, 16};
  wish.spare = Bytes{kHalves[std::max(0, spare_->currentIndex())] << 29};
  return wish;
}

QString SpacePanel::fingerprint() const {
  const auto asked = question();
  if (!asked) return {};
  QString text = q(asked->request.model) + "\n" + q(asked->request.cluster) + "\n" +
                 q(asked->request.plan) + "\n" + q(asked->calibration) + "\n";
  for (const std::string& word : asked->request.settings) text += q(word) + " ";
  for (const Bound& bound : asked->bounds) text += "\n" + q(bound.key) + " in " + q(bound.values);
  return text + QString("\n%1 %2").arg(objective_->currentIndex()).arg(spare_->currentIndex());
}

void SpacePanel::refresh_progress() {
  const bool running = planning_.running();
  const auto findings = planning_.findings();
  show_run(running,
           running               ? "Stop"
           : findings == nullptr ? "Search"
                                 : "Search again",
           running ? "Stop the search" : "Search for plans", "search");
  run_->setEnabled(running || error_->text().isEmpty());
  count_->setVisible(running || findings != nullptr);
  if (running) {
    const PlanProgress& now = planning_.progress();
    state_->setText(now.simulating ? "simulating" : "running");
    count_->setText(count_text(now.tried) +
                    (now.total > 0 ? " of " + count_text(now.total) : QString()) + " plans");
    bar_->setRange(0, now.total > 0 ? 1000 : 0);
    if (now.total > 0)
      bar_->setValue(static_cast<int>(1000 * now.tried / std::max<std::uint64_t>(1, now.total)));
    now_->setText(QString("%1 fit, %2 on the front")
                      .arg(count_text(now.fitting))
                      .arg(now.picture.front.size()));
    return;
  }
  if (findings == nullptr) {
    state_->setText(planning_.error().empty() ? "" : "failed");
    now_->setText("Prices every plan of the space below, and says why each lost.");
    return;
  }
  const SearchResult& r = findings->result;
  state_->setText(r.stopped ? "stopped" : "done");
  count_->setText(count_text(r.tried) + " plans");
  now_->setText(
      QString("%1 fit, %2 on the front, %3 simulated\n%4 s, %5 plans/s")
          .arg(count_text(r.fitting))
          .arg(r.front.size())
          .arg(r.simulated)
          .arg(r.seconds, 0, 'f', 2)
          .arg(q(format_large(static_cast<double>(r.tried) / std::max(1e-9, r.seconds)))));
}

}  // namespace trainyard
