#include "app/desktop/readings.h"

#include <QLabel>

#include <algorithm>
#include <cmath>

#include "app/desktop/theme.h"
#include "app/desktop/widgets.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

QString q(const std::string& text) { return QString::fromStdString(text); }
QString bold(const std::string& text) { return "<b>" + q(text) + "</b>"; }

// A step of stale gradients is not told without what it costs in tokens.
QString tokens_of(const Result& result) {
  return result.asynchrony
             ? QString(", %1 \u00D7 tokens").arg(result.asynchrony->token_overhead.value, 0, 'f', 2)
             : QString();
}

int band_percent(const Banded<Duration>& step) {
  if (step.value.count() <= 0) return 0;
  const double half = to_seconds(step.high - step.low) / 2 / to_seconds(step.value);
  return static_cast<int>(std::lround(100 * half));
}

Bytes worst_peak(const Result& result) {
  Bytes peak{};
  for (const StageMemory& m : result.memory) peak = std::max(peak, m.peak.value);
  return peak;
}

}  // namespace

QStringList reading_texts(const Result& result) {
  const double rate =
      tokens_per_second(result) / static_cast<double>(std::max<std::int64_t>(1, result.devices));
  const double samples = result.samples_per_step / std::max(1e-12, to_seconds(result.step.value)) /
                         static_cast<double>(std::max<std::int64_t>(1, result.devices));
  const QString throughput =
      result.counts_tokens
          ? QString("<b>%1</b> tokens/s/GPU").arg(q(format_count(std::llround(rate))))
          : QString("<b>%1</b> samples/s/GPU").arg(samples, 0, 'g', 4);
  const QString mark = result.verdict.fits ? QString() : QString::fromUtf8("⚠ ");
  return {QString("step %1 ± %2 %")
                  .arg(bold(format_step_time(result.step.value)))
                  .arg(band_percent(result.step)) +
              tokens_of(result),
          "MFU " + bold(format_percent(result.mfu)),
          "bubble " + bold(format_percent(result.bubble_fraction)),
          "exposed comm " + bold(format_percent(result.exposed_communication_fraction)),
          mark + "worst device " + bold(format_bytes(worst_peak(result))) + " / " +
              q(format_bytes(result.capacity)),
          throughput};
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
    addWidget(make_rule(12));
    values_ << label;
  }
  source_ = make_label("", 11, QFont::Medium);
  frame_ = make_label("", 11, QFont::Medium);
  renderer_ = make_label("", 11, QFont::Medium);
  renderer_->setAccessibleName("Renderer");
  renderer_->setContentsMargins(2, 0, 10, 0);
  addPermanentWidget(source_);
  addPermanentWidget(make_rule(12));
  addPermanentWidget(frame_);
  addPermanentWidget(make_rule(12));
  addPermanentWidget(renderer_);
  connect(&session_, &Session::experiment_changed, this, &Readings::refresh);
  connect(&session_, &Session::freshness_changed, this, &Readings::refresh);
  refresh();
}

void Readings::refresh() {
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
  }
  source_->setText(q(session_.experiment()->result.fidelity));
  source_->setToolTip("Left out: " + [&] {
    QStringList words;
    for (const std::string& s : session_.experiment()->result.leaves_out) words << q(s);
    return words.join("; ");
  }());
}

void Readings::set_renderer(const QString& name, const QString& why) {
  // "software: no Vulkan driver found" says both what draws and why.
  renderer_->setText("renderer: " + (why.startsWith(name) ? why : name).left(60));
  renderer_->setToolTip(why);
  renderer_->setAccessibleDescription(why);
}

void Readings::set_frame_time(double milliseconds) {
  frame_->setText(QString("%1 ms/frame").arg(milliseconds, 0, 'f', 1));
}

}  // namespace trainyard
