#include "app/desktop/controls/readings.h"

#include <QLabel>

#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "core/result/figures.h"
#include "core/result/training_cost.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

QString bold(const std::string& text) { return "<b>" + q(text) + "</b>"; }

// The step time of an asynchronous plan is always shown with its cost in tokens.
QString tokens_of(const Result& result) {
  return result.asynchrony
             ? QString(", %1 \u00D7 tokens").arg(result.asynchrony->token_overhead.value, 0, 'f', 2)
             : QString();
}

QString ranged(const BandText& text) {
  return bold(text.value) + (text.range.empty() ? QString() : " (" + q(text.range) + ")");
}

const char* rate_unit(const Result& result) {
  return result.counts_tokens ? "tokens/s/GPU" : "samples/s/GPU";
}

// Padding counts among the tokens of a second.
QString useful_share(const Result& result) {
  return result.documents ? ", " + q(format_percent(result.documents->efficiency)) + " useful"
                          : QString();
}

}  // namespace

QStringList reading_texts(const Result& result) {
  const QString mark = result.verdict.fits ? QString() : QString::fromUtf8("⚠ ");
  const StageMemory* most = fullest(result);
  const BandText peak = band_text(most == nullptr ? Banded<Bytes>{} : most->peak);
  BandText rate = band_number(rate_per_device(result), "");
  return {"step " + ranged(band_text(result.step)) + tokens_of(result),
          "MFU " + ranged(band_percent(utilisation(result))),
          "bubble " + bold(format_percent(result.bubble_fraction)),
          "exposed comm " + bold(format_percent(result.exposed_communication_fraction)),
          mark + "worst device " + ranged(peak) + " / " + q(format_bytes(result.capacity)),
          ranged(rate) + " " + rate_unit(result) + useful_share(result)};
}

QList<std::pair<QString, QString>> banded_figures(const Result& result) {
  QList<std::pair<QString, QString>> list = {
      {"Step", q(band_text(result.step).text())},
      {"Throughput", q(band_number(rate_per_device(result), rate_unit(result)).text())},
      {"MFU", q(band_percent(utilisation(result)).text())}};
  for (const std::string& sentence : document_sentences(result))
    list << std::pair{QString("Documents"), q(sentence)};
  if (!result.ramp.empty()) list << std::pair{QString("Batch ramp"), q(ramp_sentence(result))};
  if (const StageMemory* most = fullest(result))
    list << std::pair{QString("Peak"),
                      q(band_text(most->peak).text()) + " of " + q(format_bytes(result.capacity))};
  if (result.energy) list << std::pair{QString("Energy"), q(band_text(*result.energy).text())};
  if (const auto emitted = carbon(result))
    list << std::pair{QString("Carbon"),
                      q(carbon_text(*emitted).text()) + "; " + q(emitted->basis)};
  if (result.money) list << std::pair{QString("Money"), q(band_number(*result.money, "$").text())};
  if (!result.step.basis.empty()) list << std::pair{QString("Time"), q(result.step.basis)};
  if (const StageMemory* most = fullest(result); most != nullptr && !most->peak.basis.empty())
    list << std::pair{QString("Memory"), q(most->peak.basis)};
  if (result.energy) list << std::pair{QString("Power"), q(result.energy->basis)};
  if (result.money && !result.money->basis.empty())
    list << std::pair{QString("Price"), q(result.money->basis)};
  if (result.evidence) list << std::pair{QString("Evidence"), q(result.evidence->sentence)};
  return list;
}

QString source_text(const Result& result) {
  const QString fidelity = q(result.fidelity), kind = fidelity.section(": ", 0, 0);
  const QString rest = fidelity.section(": ", 1);
  const QString word = kind == "simulate"   ? QString("Simulated")
                       : kind == "estimate" ? QString("Estimated")
                                            : kind;
  return rest.isEmpty() ? word : word + " (" + rest + ")";
}

QString bands_html(const Result& result) {
  QStringList lines;
  for (const auto& [name, text] : banded_figures(result))
    lines << "<b>" + name + "</b> " + text.toHtmlEscaped();
  for (const Assumed& one : result.assumptions)
    lines << "<b>Assumed</b> " + q(one.sentence).toHtmlEscaped();
  return lines.join("<br>");
}

Readings::Readings(Session& session, QWidget* parent) : QStatusBar(parent), session_(session) {
  setFixedHeight(kStatusBarHeight);
  setSizeGripEnabled(false);
  setAccessibleName("Readings");
  const QStringList names = {"step time",    "model FLOP utilisation",
                             "bubble",       "exposed communication",
                             "worst device", "throughput"};
  for (const QString& name : names) {
    auto* label = make_label("", 11, QFont::Medium);
    label->setAccessibleName(name);
    label->setContentsMargins(values_.isEmpty() ? 6 : 4, 0, 4, 0);
    addWidget(label);
    rules_ << make_rule(12);
    addWidget(rules_.last());
    values_ << label;
  }
  source_ = make_label("", 11, QFont::Medium);
  frame_ = make_label("", 11, QFont::Medium);
  // A fixed width keeps the following readings in place when a number gains a digit.
  frame_->setMinimumWidth(frame_->fontMetrics().horizontalAdvance("0000.0 ms/frame"));
  renderer_ = make_label("", 11, QFont::Medium);
  renderer_->setAccessibleName("Renderer");
  renderer_->setContentsMargins(2, 0, 10, 0);
  QWidget *after_source = make_rule(12), *after_frame = make_rule(12);
  for (QWidget* part : {static_cast<QWidget*>(source_), after_source, static_cast<QWidget*>(frame_),
                        after_frame, static_cast<QWidget*>(renderer_)})
    addPermanentWidget(part);
  spare_ = {renderer_, after_frame, frame_, after_source, source_};
  frame_shown_.setSingleShot(true);
  frame_shown_.setInterval(250);
  connect(&frame_shown_, &QTimer::timeout, this, &Readings::show_frame_time);
  connect(&session_, &Session::experiment_changed, this, &Readings::refresh);
  connect(&session_, &Session::freshness_changed, this, &Readings::refresh);
  refresh();
}

void Readings::resizeEvent(QResizeEvent* event) {
  QStatusBar::resizeEvent(event);
  fit();
}

// A reading is whole or not there: those of the program give way before those of the plan, and of
// these the last ones first.
void Readings::fit() {
  constexpr int kGap = 8;
  int wanted = 0;
  bool room = true;
  for (int i = 0; i < values_.size(); ++i) {
    if (!values_[i]->text().isEmpty())
      wanted += values_[i]->sizeHint().width() + rules_[i]->sizeHint().width() + 2 * kGap;
    room = room && (i == 0 || wanted <= width());
    values_[i]->setVisible(room && !values_[i]->text().isEmpty());
    rules_[i]->setVisible(room && !values_[i]->text().isEmpty());
  }
  for (auto part = spare_.rbegin(); part != spare_.rend(); ++part) {
    wanted += (*part)->sizeHint().width() + kGap;
    room = room && wanted <= width();
    (*part)->setVisible(room);
  }
}

void Readings::say(const QStringList& words) {
  if (said_ == words) return;
  said_ = words;
  refresh();
}

// Shows the first six texts; fit() hides unused places.
void Readings::show_said() {
  for (int i = 0; i < values_.size(); ++i) {
    values_[i]->setText(i < said_.size() ? said_[i] : QString());
    values_[i]->setToolTip({});
    set_tone(values_[i], "");
  }
  source_->setText({});
  source_->setToolTip({});
}

void Readings::refresh() {
  show_readings();
  fit();
}

void Readings::show_readings() {
  if (!said_.isEmpty()) return show_said();
  if (!session_.experiment()) {
    const QStringList empty = {"step –",         "MFU –",          "bubble –",
                               "exposed comm –", "worst device –", "tokens/s/GPU –"};
    for (int i = 0; i < values_.size(); ++i) values_[i]->setText(empty[i]);
    return source_->setText("not simulated");
  }
  const QStringList texts = reading_texts(session_.experiment()->result);
  const bool dim = session_.stale() || !session_.outcome().error.empty();
  for (int i = 0; i < values_.size(); ++i) {
    set_tone(values_[i], dim ? "third" : "");
    values_[i]->setText(texts[i]);
    values_[i]->setToolTip(bands_html(session_.experiment()->result));
  }
  const Outcome& outcome = session_.outcome();
  source_->setText(source_text(session_.experiment()->result) +
                   (outcome.calibrated.empty() ? "" : ", calibrated"));
  source_->setToolTip("Left out: " + [&] {
    QStringList words;
    for (const std::string& s : session_.experiment()->result.leaves_out) words << q(s);
    return words.join("; ");
  }());
}

void Readings::set_renderer(const QString& name, const QString& why) {
  // A reason such as "software: no Vulkan driver found" already contains the renderer's name.
  renderer_->setText(name == "software" ? QString("Software renderer") : name);
  renderer_->setToolTip(why);
  fit();
  renderer_->setAccessibleDescription(why);
}

void Readings::set_frame_time(double milliseconds) {
  frame_time_ = milliseconds;
  if (frame_shown_.isActive()) return;
  show_frame_time();
  frame_shown_.start();
}

void Readings::show_frame_time() {
  frame_->setText(QString("%1 ms/frame").arg(frame_time_, 0, 'f', 1));
}

}  // namespace trainyard
