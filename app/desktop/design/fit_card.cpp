#include "app/desktop/design/fit_card.h"

#include <QGridLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>

#include "app/desktop/controls/readings.h"
#include "app/desktop/controls/swatch.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/design/verdict_bar.h"
#include "core/result/figures.h"
#include "visualizers/memory/memory_view.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
void FitBar::paintEvent(QPaintEvent*) {
  if (!session_.experiment()) return;
  const Result& result = session_.experiment()->result;
  const StageMemory* stage = fullest(result);
  if (stage == nullptr || result.capacity.value <= 0) return;
  const Theme theme = current_theme();
  QPainter p(this);
  const double whole =
      static_cast<double>(std::max({result.capacity, stage->peak.value, stage->peak.high}).value) *
      1.02;
  const auto x_of_bytes = [&](double bytes) { return bytes / whole * width(); };
  const double scale = ui_scale();
  const QRectF bar(0, 12 * scale, width(), 18 * scale);
  p.fillRect(bar, qcolor(Ink::Canvas, theme));
  double at = 0;
  for (int c = 0; c < kCategories; ++c) {
    const double bytes = static_cast<double>(stage->categories[static_cast<std::size_t>(c)].value);
    if (bytes > 0)
      paint_swatch(p, QRectF(x_of_bytes(at), bar.y(), x_of_bytes(bytes), bar.height()),
                   ink_of(static_cast<Category>(c)));
    at += bytes;
  }
  const double limit = x_of_bytes(static_cast<double>(result.capacity.value));
  if (at > static_cast<double>(result.capacity.value)) {
    const QRectF over(limit, bar.y(), x_of_bytes(at) - limit, bar.height());
    p.fillRect(over, qcolor(Ink::ErrorBackground, theme));
    p.fillRect(over, QBrush(qcolor(Ink::Error, theme), Qt::BDiagPattern));
  }
  if (has_band(stage->peak)) {
    const double low = x_of_bytes(static_cast<double>(stage->peak.low.value)),
                 high = x_of_bytes(static_cast<double>(stage->peak.high.value)),
                 y = bar.center().y();
    // A dark line under a light one is visible on every category.
    for (const auto& [ink, width] : {std::pair(Ink::Canvas, 3.6), std::pair(Ink::Text, 1.6)}) {
      p.setPen(QPen(qcolor(ink, theme), width));
      p.drawLine(QPointF(low, y), QPointF(high, y));
      for (const double end : {low, high})
        p.drawLine(QPointF(end, y - 4 * scale), QPointF(end, y + 4 * scale));
    }
  }
  p.setPen(QPen(qcolor(Ink::Text, theme), 1.4));
  p.drawLine(QPointF(limit, 9 * scale), QPointF(limit, 32 * scale));
  p.setFont(ui_font(10));
  p.setPen(qcolor(Ink::Text2, theme));
  p.drawText(QRectF(0, -scale, limit + 2, 11 * scale), Qt::AlignRight | Qt::AlignVCenter,
             "capacity " + q(format_bytes(result.capacity)));
}

FitCard::FitCard(Session& session, QWidget* parent) : QWidget(parent), session_(session) {
  setObjectName("card");
  setAttribute(Qt::WA_StyledBackground);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(12, 10, 12, 8);
  column->setSpacing(6);
  head_ = make_label("", 13, QFont::DemiBold);
  head_->setWordWrap(true);
  story_ = make_label("", 12, QFont::Normal, "second");
  story_->setWordWrap(true);
  fixes_ = new QWidget;
  new QGridLayout(fixes_);
  column->addWidget(head_);
  column->addWidget(story_);
  column->addWidget(new FitBar(session_));
  column->addWidget(fixes_);
  connect(&session_, &Session::experiment_changed, this, &FitCard::refresh);
  refresh();
}

void FitCard::set_detailed(bool on) {
  detailed_ = on;
  refresh();
}

void FitCard::refresh() {
  setVisible(session_.experiment() && (detailed_ || !session_.experiment()->result.verdict.fits));
  if (!session_.experiment()) return;
  const Verdict& verdict = session_.experiment()->result.verdict;
  const auto [head, rest] = split_sentence(verdict.sentence);
  set_tone(head_, verdict.fits ? "ok" : "error");
  head_->setText(head);
  QString story = rest;
  if (!verdict.peak_parts.empty())
    story += QString(". Largest: %1, %2")
                 .arg(q(verdict.peak_parts.front().name),
                      q(format_bytes(verdict.peak_parts.front().bytes)));
  if (const StageMemory* most = fullest(session_.experiment()->result)) {
    const BandText peak = band_text(most->peak);
    if (!peak.range.empty()) story += ". Peak " + q(peak.text());
  }
  story_->setText(story);
  setToolTip(bands_html(session_.experiment()->result));
  list_fixes(verdict.fixes);
  update();
}

void FitCard::list_fixes(const std::vector<Fix>& fixes) {
  auto* grid = static_cast<QGridLayout*>(fixes_->layout());
  while (QLayoutItem* item = grid->takeAt(0)) {
    if (item->widget() != nullptr) {
      item->widget()->hide();  // deleted later, so it must not be drawn over new widgets
      item->widget()->deleteLater();
    }
    delete item;
  }
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setHorizontalSpacing(10);
  grid->setColumnStretch(0, 1);
  fixes_->setVisible(!fixes.empty());
  const Result& now = session_.experiment()->result;
  int row = 0;
  const QStringList heads = {"Fixes, cheapest first", "step", "peak", "change"};
  for (int c = 0; c < heads.size(); ++c)
    grid->addWidget(make_label(heads[c], 11, QFont::Normal, "third"), row, c,
                    c == 0 ? Qt::AlignLeft : Qt::AlignRight);
  for (const Fix& fix : fixes) {
    ++row;
    auto* name = make_label(change_name(fix.set), 12, QFont::DemiBold);
    name->setToolTip(q(fix.sentence));
    grid->addWidget(name, row, 0);
    const double step = to_seconds(fix.step) - to_seconds(now.step.value);
    grid->addWidget(make_label(q(format_signed(step, 2)) + " s", 12, QFont::Normal), row, 1,
                    Qt::AlignRight);
    grid->addWidget(
        make_label(q(format_bytes(fix.peak)), 12, QFont::Normal, fix.fits ? "" : "error"), row, 2,
        Qt::AlignRight);
    grid->addWidget(
        make_label(q(format_signed(-static_cast<double>(fix.saves.value) / (1 << 30), 1)), 12,
                   QFont::Normal, "second"),
        row, 3, Qt::AlignRight);
    auto* button = new QPushButton("Apply");
    button->setProperty("kind", "small");
    button->setAccessibleName("Apply " + q(fix.set));
    connect(button, &QPushButton::clicked, this, [this, set = q(fix.set)] { Q_EMIT apply(set); });
    grid->addWidget(button, row, 4);
  }
  // Shown now, because otherwise they would be laid out one frame later.
  for (int i = 0; i < grid->count(); ++i) grid->itemAt(i)->widget()->show();
}

}  // namespace trainyard
