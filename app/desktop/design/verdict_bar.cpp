#include "app/desktop/design/verdict_bar.h"

#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>

#include <algorithm>
#include <cmath>

#include "app/desktop/controls/icons.h"
#include "app/desktop/controls/readings.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/session/plan_words.h"
#include "core/result/figures.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

Ink ink_of_tone(const QString& tone) {
  if (tone == "error") return Ink::Error;
  if (tone == "warn") return Ink::Warn;
  return tone == "ok" ? Ink::Ok : Ink::BorderStrong;
}

// The step time of an asynchronous plan is always shown with its cost in tokens.
QString limit_text(const Result& result) {
  const QString limit = QString::fromStdString(result.verdict.limit),
                step = "Step " + QString::fromStdString(band_text(result.step).text());
  if (result.input && result.input->waiting > Duration{})
    return QString("%1. %2; %3").arg(step, limit, QString::fromStdString(result.input->sentence));
  if (!result.asynchrony) return limit.isEmpty() ? step : step + ". " + limit;
  return QString("%1, %2; %3")
      .arg(step, QString::fromStdString(result.asynchrony->sentence), limit);
}

// A text such as "Published 4.94 s, predicted 2.1 % above. "; empty for figures that are not of a
// whole step or device.
QString published_text(const PreparedRow& row, const Result& result) {
  const bool memory = row.metric == RowMetric::Memory;
  const StageMemory* most = fullest(result);
  if ((row.metric != RowMetric::StepTime && !memory) || most == nullptr) return {};
  const double predicted =
      memory ? static_cast<double>(most->peak.value.value) : to_seconds(result.step.value);
  const double off = predicted / row.measured - 1;
  return QString("Published %1, predicted %2 %3. ")
      .arg(QString::fromStdString(memory ? format_bytes({std::llround(row.measured)})
                                         : format_step_time(seconds(row.measured))),
           QString::fromStdString(format_percent(std::abs(off))), off < 0 ? "below" : "above");
}

// A text such as "Calibrated by a machine, 2 cores. ".
QString calibrated_text(const Outcome& outcome) {
  return outcome.calibrated.empty()
             ? QString()
             : "Calibrated by " + QString::fromStdString(outcome.calibrated) + ". ";
}

}  // namespace

std::pair<QString, QString> split_sentence(const std::string& sentence) {
  const QString text = QString::fromStdString(sentence);
  qsizetype cut = text.size();
  for (const QString& mark : {QString(": "), QString("; "), QString(", "), QString(". ")})
    if (const qsizetype at = text.indexOf(mark); at > 0) cut = std::min(cut, at);
  QString rest = text.mid(cut + 2);
  if (rest.endsWith('.')) rest.chop(1);
  QString head = text.left(cut);
  if (head.endsWith('.')) head.chop(1);
  return {head, rest};
}

QString change_text(const Fix& fix, const Result& result) {
  const Duration now = result.step.value;
  return QString("%1   %2 %3   %4 GiB")
      .arg(change_name(fix.set), step_change(now, fix.step), unit_of(now).name,
           QString::fromStdString(
               format_signed(-static_cast<double>(fix.saves.value) / (1 << 30), 1)));
}

const char* fit_tone(const Result& result) {
  if (!result.verdict.fits) return "error";
  const bool tight = result.verdict.word == FitWord::MayNotFit ||
                     static_cast<double>(result.verdict.margin.value) <
                         0.01 * static_cast<double>(result.capacity.value);
  return tight ? "warn" : "ok";
}

VerdictBar::VerdictBar(Session& session, QWidget* parent) : QWidget(parent), session_(session) {
  setFixedHeight(kVerdictHeight - 1);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName("Verdict");
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(12, 0, 12, 0);
  row->setSpacing(8);
  state_ = new QFrame;
  state_->setFixedSize(3, 22);
  icon_ = new QLabel;
  icon_->setFixedSize(16, 16);
  head_ = make_label("", 12, QFont::DemiBold);
  evidence_ = new ElidedLabel(12, "second");
  rule_ = make_rule(18);
  limit_ = new ElidedLabel(12, "second");
  why_ = make_label("", 12, QFont::Normal, "third");
  button_ = new QPushButton;
  button_->setProperty("kind", "small");
  button_->setAccessibleName("Apply the best change");
  for (QWidget* part :
       std::initializer_list<QWidget*>{state_, icon_, head_, evidence_, rule_, limit_})
    row->addWidget(part);
  row->setStretchFactor(evidence_, 3);
  row->setStretchFactor(limit_, 2);
  row->addWidget(why_);
  row->addWidget(button_);
  connect(button_, &QPushButton::clicked, this, [this] { Q_EMIT apply(offered_); });
  connect(&session_, &Session::experiment_changed, this, &VerdictBar::refresh);
  connect(&session_, &Session::freshness_changed, this, &VerdictBar::refresh);
  refresh();
}

void VerdictBar::say(const char* tone, const QString& icon_name, const QString& head,
                     const QString& evidence, const QString& limit) {
  const QColor colour = qcolor(ink_of_tone(tone), current_theme());
  state_->setStyleSheet(QString("background:%1").arg(colour.name()));
  icon_->setPixmap(icon_name.isEmpty() ? QPixmap() : icon(icon_name, colour).pixmap(16, 16));
  icon_->setVisible(!icon_name.isEmpty());
  set_tone(head_, tone);
  head_->setText(head);
  evidence_->setText(evidence);
  evidence_->setToolTip(evidence);
  limit_->setText(limit);
  limit_->setToolTip(limit);
  limit_->setVisible(!limit.isEmpty());
  rule_->setVisible(!limit.isEmpty());
  setAccessibleDescription(head + ". " + evidence + ". " + limit);
}

void VerdictBar::offer(const Verdict* verdict) {
  const Fix* best = nullptr;
  if (verdict != nullptr) {
    if (verdict->fits && verdict->gain) best = &*verdict->gain;
    if (!verdict->fits && !verdict->fixes.empty()) best = &verdict->fixes.front();
  }
  why_->setVisible(best != nullptr);
  button_->setVisible(best != nullptr);
  offered_ = best == nullptr ? QString() : QString::fromStdString(best->set);
  if (best == nullptr) return;
  why_->setText(verdict->fits ? "Faster" : best->fits ? "Best fix" : "Still over, least with");
  button_->setText(change_text(*best, session_.experiment()->result));
  button_->setToolTip(QString::fromStdString(best->sentence));
  layout()->activate();  // before the next frame, or texts are cut for a moment
}

// What makes a plan legal again has no price yet.
void VerdictBar::offer_way_back(const PlanProblem& problem) {
  offer(nullptr);
  if (problem.fixes.empty()) return;
  offered_ = QString::fromStdString(problem.fixes.front());
  why_->setText("Can run with");
  button_->setText(change_name(problem.fixes.front()));
  button_->setToolTip("Sets " + button_->text());
  why_->setVisible(true);
  button_->setVisible(true);
  layout()->activate();
}

void VerdictBar::set_published(const PreparedRow* row) {
  const QString words =
      row == nullptr ? QString() : published_text(*row, session_.experiment()->result);
  if (words == published_) return;
  published_ = words;
  refresh();
}

void VerdictBar::refresh() {
  if (!session_.outcome().error.empty()) {
    say("error", "error", "This plan cannot run", session_.outcome().problem.sentence, "");
    return offer_way_back(session_.outcome().problem);
  }
  if (!session_.experiment()) {
    say("", "", "No model open", "Open a model's config.json, or choose a model.", "");
    return offer(nullptr);
  }
  const Result& result = session_.experiment()->result;
  auto [head, rest] = split_sentence(result.verdict.sentence);
  if (result.verdict.word == FitWord::Fits) {
    head += result.devices == 1 ? QString(" on its device")
                                : QString(" on all %1 devices").arg(result.devices);
  } else {
    // The margin, which comes first in the sentence, is shown beside the word.
    const QString margin = rest.section(", ", 0, 0).section(" on ", 0, 0);
    head += ": " + margin;
    rest = rest.mid(margin.size());
    rest = rest.startsWith(", ") ? rest.mid(2) : rest.trimmed();
  }
  const QString tone = fit_tone(result);
  say(fit_tone(result),
      tone == "error"  ? "error"
      : tone == "warn" ? "warning"
                       : "check",
      head, rest, published_ + calibrated_text(session_.outcome()) + limit_text(result));
  evidence_->setToolTip(bands_html(result));
  QString tip = limit_->text().toHtmlEscaped() + "<br>" + bands_html(result);
  if (!session_.outcome().not_calibrated.empty())
    tip += "<br>The accepted calibration is not used: " +
           QString::fromStdString(session_.outcome().not_calibrated).toHtmlEscaped();
  limit_->setToolTip(tip);
  offer(session_.stale() ? nullptr : &result.verdict);
}

}  // namespace trainyard
