#include "app/desktop/planner/reason_panel.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/waterfall_scene.h"
#include "app/desktop/session/plan_words.h"
#include "app/workspace/plans/plan_points.h"
#include "core/result/figures.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

MemorySide memory_of(const std::string& name, const Result& result) {
  MemorySide side;
  side.name = name;
  const StageMemory* most = fullest(result);
  if (most == nullptr) return side;
  side.categories = most->categories;
  side.reserved = std::max(most->reserved, most->peak.value);
  return side;
}

QString figures_of(const PlanCase& plan) {
  const Result& r = plan.mine;
  QStringList parts;
  parts << "<b>" + q(format_step_time(r.step.value)) + "</b> per step by the closed form";
  const MemorySide memory = memory_of("", r);
  const auto spare = static_cast<std::int64_t>(r.capacity.value - memory.reserved.value);
  parts << "<b>" + q(format_bytes(memory.reserved)) + "</b> on the fullest device, " +
               q(format_bytes(Bytes{std::abs(spare)})) + (spare < 0 ? " over" : " spare");
  QString rate = q(format_large(rate_per_device(r).value * static_cast<double>(r.devices))) +
                 (r.counts_tokens ? " tokens/s" : " samples/s");
  rate += ", bubble " + q(format_percent(r.bubble_fraction)) + ", exposed communication " +
          q(format_percent(r.exposed_communication_fraction));
  parts << rate;
  if (r.money) parts << QString("$%1 per step").arg(r.money->value, 0, 'g', 3);
  return parts.join("<br>");
}

}  // namespace

ReasonPanel::ReasonPanel(Planning& planning, QWidget* parent)
    : QWidget(parent), planning_(planning) {
  setObjectName("panel");
  setAttribute(Qt::WA_StyledBackground);
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  outer->setSpacing(0);
  auto* bar = new Header("Why not?");
  own_ = new QPushButton("My plan");
  own_->setProperty("kind", "small");
  own_->setAccessibleName("Why not my plan?");
  own_->setToolTip("Why the open plan is not the best (Ctrl+Shift+W)");
  bar->row()->addWidget(own_);
  outer->addWidget(bar);
  auto* inner = new QWidget;
  auto* column = new QVBoxLayout(inner);
  column->setContentsMargins(12, 10, 12, 8);
  column->setSpacing(6);
  title_ = make_label("", 13, QFont::DemiBold);
  details_ = make_label("", 11, QFont::Normal, "third");
  reason_ = make_label("", 12, QFont::Medium);
  figures_ = make_label("", 12, QFont::Normal, "second");
  for (QLabel* label : {title_, details_, reason_, figures_}) {
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    column->addWidget(label);
  }
  title_->setAccessibleName("Chosen plan");
  reason_->setAccessibleName("Reason");
  open_ = new QPushButton("Open this plan");
  open_->setProperty("kind", "primary");
  open_->setAccessibleName("Open this plan");
  open_->setToolTip("Its settings become the open plan's; can be undone (Enter on the picture)");
  mend_ = new QPushButton;
  mend_->setAccessibleName("Show the closest feasible plan");
  auto* buttons = new QHBoxLayout;
  buttons->setContentsMargins(0, 2, 0, 2);
  buttons->addWidget(open_);
  buttons->addWidget(mend_);
  buttons->addStretch(1);
  column->addLayout(buttons);
  outer->addWidget(inner);
  auto* fall_bar = new Header("Against the best");
  which_ = new Segment("What the waterfall shows", {"Time", "Memory"});
  which_->set_current(0);
  fall_bar->row()->addWidget(which_);
  fall_bar->setFixedHeight(32);
  outer->addWidget(fall_bar);
  auto scene = std::make_unique<WaterfallScene>();
  fall_ = scene.get();
  canvas_ = new CanvasWidget("What lies between the plan and the best", std::move(scene));
  canvas_->setMinimumHeight(150);
  outer->addWidget(canvas_, 1);
  connect(open_, &QPushButton::clicked, this, &ReasonPanel::open_plan);
  connect(own_, &QPushButton::clicked, this, &ReasonPanel::ask_own);
  connect(mend_, &QPushButton::clicked, this, [this] { Q_EMIT mend(q(case_.reason.fix)); });
  connect(which_, &Segment::chosen, this, &ReasonPanel::show_waterfall);
  show_words("No plan is chosen", "");
}

void ReasonPanel::set_reason(const QString& words, const char* tone) {
  set_tone(reason_, tone);
  reason_->setText(words);
  reason_->setVisible(!words.isEmpty());
}

void ReasonPanel::show_words(const QString& title, const QString& words) {
  work_.stop();
  plan_.reset();
  known_ = false;
  title_->setText(title);
  details_->clear();
  details_->hide();
  figures_->clear();
  figures_->hide();
  set_reason(words, "second");
  open_->setEnabled(false);
  open_->setVisible(planning_.findings() != nullptr);
  mend_->hide();
  own_->setEnabled(planning_.findings() != nullptr);
  show_waterfall();
}

void ReasonPanel::show_plan(PlanId id, const QString& letter) {
  const auto findings = planning_.findings();
  if (findings == nullptr) return;
  plan_ = id;
  known_ = false;
  title_->setText((letter.isEmpty() ? QString() : letter + ": ") +
                  q(plan_name(*findings->space, id)));
  details_->setText(q(plan_details(*findings->space, id)));
  details_->setVisible(!details_->text().isEmpty());
  set_reason("Pricing it …", "third");
  figures_->clear();
  figures_->hide();
  open_->setEnabled(true);
  open_->show();
  own_->setEnabled(true);
  mend_->hide();
  show_waterfall();
  work_.ask([findings, id, &prices = planning_.prices()](
                const std::stop_token&, const auto&) { return plan_case(*findings, prices, id); },
            [this](const PlanCase& answer) { show_case(answer); });
}

void ReasonPanel::show_case(const PlanCase& answer) {
  case_ = answer;
  known_ = answer.error.empty();
  if (!known_) return set_reason(q(answer.error), "error");
  const Fate fate = answer.reason.fate;
  QString words = q(answer.reason.sentence);
  if (!answer.reason.field.empty()) words = q(answer.reason.field) + ": " + words;
  if (!words.isEmpty()) words[0] = words[0].toUpper();
  set_reason(words, fate >= Fate::Front ? "ok" : fate == Fate::Dominated ? "warn" : "error");
  figures_->setVisible(answer.legal);
  if (answer.legal) figures_->setText(figures_of(answer));
  mend_->setVisible(!answer.reason.fix.empty());
  const QString named = change_name(answer.reason.fix);
  mend_->setText(named.size() < 26 ? "With " + named : QString("Show closest feasible plan"));
  mend_->setToolTip("The closest feasible plan: " + named);
  show_waterfall();
}

void ReasonPanel::show_waterfall() {
  const auto findings = planning_.findings();
  // Differences start from the best plan; for the best plan itself, they show what the next one
  // costs.
  const bool best = known_ && findings != nullptr && !findings->result.best.empty() &&
                    plan_ == findings->result.best.front().id;
  const std::string from = best ? "this plan" : "best", to = best ? "number 2" : "this plan";
  const auto none = [&](const QString& words) { fall_->show(std::nullopt, words); };
  if (!known_ || !plan_ || findings == nullptr)
    none(plan_ ? "" : "Choose a plan to see what lies between it and the best.");
  else if (!case_.legal)
    none("An illegal plan has no time and no memory.");
  else if (findings->result.best.empty())
    none("No plan fits, so that there is no best.");
  else if (case_.against == *plan_)
    none("It is the only plan that fits.");
  else
    fall_->show(which_->current() == 1
                    ? memory_waterfall(memory_of(from, best ? case_.mine : case_.other),
                                       memory_of(to, best ? case_.other : case_.mine))
                    : time_waterfall(from, (best ? case_.mine : case_.other).breakdown, to,
                                     (best ? case_.other : case_.mine).breakdown));
  canvas_->refresh();
}

}  // namespace trainyard
