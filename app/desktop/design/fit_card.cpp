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
#include "app/desktop/session/plan_words.h"
#include "core/result/figures.h"
#include "visualizers/memory/memory_view.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

// Lines of the sentence of a plan that does not fit, in a panel of least width.
constexpr int kStoryLines = 6;
constexpr int kFixes = 3;

}  // namespace

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
  // It ends at the line, or begins at the left edge where there is no room before the line.
  const QString words = "capacity " + q(format_bytes(result.capacity));
  const bool room = p.fontMetrics().horizontalAdvance(words) <= limit;
  p.drawText(QRectF(0, -scale, room ? limit + 2 : width(), 11 * scale),
             (room ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter, words);
}

FitCard::FitCard(Session& session, QWidget* parent) : QWidget(parent), session_(session) {
  setObjectName("card");
  setAttribute(Qt::WA_StyledBackground);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(12, 10, 12, 8);
  column->setSpacing(6);
  head_ = make_label("", 13, QFont::DemiBold);
  story_ = make_label("", 12, QFont::Normal, "second");
  story_->setWordWrap(true);
  story_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  fixes_ = new QWidget;
  new QGridLayout(fixes_);
  column->addWidget(head_);
  column->addWidget(story_);
  column->addWidget(new FitBar(session_));
  column->addWidget(fixes_);
  connect(&session_, &Session::experiment_changed, this, &FitCard::refresh);
  refresh();
}

// The card is as high whatever it says, because the rows beneath it must not move while one of them
// is turned.
void FitCard::refresh() {
  story_->setFixedHeight(kStoryLines * QFontMetrics(ui_font(12)).lineSpacing());
  clear_fixes();
  const PlanProblem& problem = session_.outcome().problem;
  setVisible(session_.experiment() || !problem.sentence.isEmpty());
  if (!problem.sentence.isEmpty())
    show_problem(problem);
  else if (session_.experiment())
    show_verdict(session_.experiment()->result);
  story_->setToolTip(story_->text());
  // Shown now, because otherwise they would be laid out one frame later.
  for (int i = 0; i < grid()->count(); ++i) grid()->itemAt(i)->widget()->show();
  update();
}

void FitCard::show_problem(const PlanProblem& problem) {
  set_tone(head_, "error");
  head_->setText("This plan cannot run");
  story_->setText(problem.sentence);
  setToolTip({});
  if (problem.fixes.empty()) return;
  add_cells({"It can run with"}, 0, "third");
  int row = 0;
  for (const std::string& set : problem.fixes)
    if (++row <= kFixes) add_fix(set, {}, row);
}

void FitCard::show_verdict(const Result& result) {
  const Verdict& verdict = result.verdict;
  const auto [head, rest] = split_sentence(verdict.sentence);
  set_tone(head_, fit_tone(result));
  head_->setText(head);
  QString story = rest;
  if (!verdict.peak_parts.empty())
    story += QString(". Largest: %1, %2")
                 .arg(q(verdict.peak_parts.front().name),
                      q(format_bytes(verdict.peak_parts.front().bytes)));
  if (const StageMemory* most = fullest(result)) {
    const BandText peak = band_text(most->peak);
    if (!peak.range.empty()) story += ". Peak " + q(peak.text());
  }
  story_->setText(story);
  setToolTip(bands_html(result));
  std::vector<Fix> fixes = verdict.fixes;
  if (verdict.fits && verdict.gain) fixes = {*verdict.gain};
  if (fixes.empty()) return;
  add_cells({verdict.fits         ? "Faster with"
             : fixes.front().fits ? "Fixes, fastest first"
                                  : "Nothing tried fits; nearest first",
             "step", "peak"},
            0, "third");
  const Duration now = result.step.value;
  int row = 0;
  for (const Fix& fix : fixes) {
    if (++row > kFixes) break;
    QLabel* name = add_fix(
        fix.set, {step_change(now, fix.step) + " " + unit_of(now).name, q(format_bytes(fix.peak))},
        row);
    name->setToolTip(q(fix.sentence));
    if (!fix.fits) set_tone(grid()->itemAtPosition(row, 2)->widget(), "error");
  }
}

QGridLayout* FitCard::grid() const { return static_cast<QGridLayout*>(fixes_->layout()); }

void FitCard::clear_fixes() {
  while (QLayoutItem* item = grid()->takeAt(0)) {
    if (item->widget() != nullptr) {
      item->widget()->hide();  // deleted later, so it must not be drawn over new widgets
      item->widget()->deleteLater();
    }
    delete item;
  }
  grid()->setContentsMargins(0, 0, 0, 0);
  grid()->setHorizontalSpacing(10);
  grid()->setVerticalSpacing(0);  // empty rows have none
  grid()->setColumnStretch(0, 1);
  for (int row = 0; row <= kFixes; ++row)
    grid()->setRowMinimumHeight(row, ui_pixels(row == 0 ? 18 : 26));
}

void FitCard::add_cells(const QStringList& cells, int row, const char* tone) {
  for (int c = 0; c < cells.size(); ++c) {
    const double pixels = row == 0 ? 11 : 12;
    if (c > 0) {
      grid()->addWidget(make_label(cells[c], pixels, QFont::Normal, tone), row, c, Qt::AlignRight);
      continue;
    }
    auto* name = new ElidedLabel(pixels, tone);  // which must not widen the panel
    name->setText(cells[c]);
    grid()->addWidget(name, row, c);
  }
}

QLabel* FitCard::add_fix(const std::string& set, const QStringList& figures, int row) {
  add_cells(QStringList{""} + figures, row, "");
  auto* name = static_cast<QLabel*>(grid()->itemAtPosition(row, 0)->widget());
  name->setText(change_name(set));
  name->setFont(ui_font(12, QFont::DemiBold));
  auto* button = new QPushButton("Apply");
  button->setProperty("kind", "small");
  button->setAccessibleName("Apply " + change_name(set));
  connect(button, &QPushButton::clicked, this, [this, words = q(set)] { Q_EMIT apply(words); });
  grid()->addWidget(button, row, 3);
  return name;
}

}  // namespace trainyard
