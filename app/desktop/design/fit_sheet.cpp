#include "app/desktop/design/fit_sheet.h"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <memory>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/chart_scene.h"
#include "app/desktop/session/plan_words.h"
#include "app/desktop/tables/view_table.h"

namespace trainyard {
namespace {

std::string lever_titles(const std::string& words) { return change_name(words).toStdString(); }

}  // namespace

FitSheet::FitSheet(const FittedPlan& found, QWidget* parent)
    : QDialog(parent), charts_(fit_charts(found, lever_titles)), choices_(fit_choices(found)) {
  setAttribute(Qt::WA_DeleteOnClose);
  setWindowTitle("Into the budget, lever by lever");
  setMinimumSize(900, 520);
  resize(1240, 720);
  auto* column = new QVBoxLayout(this);
  column->setSpacing(8);
  auto* sentence = make_label(q(fit_sentence(found, lever_titles)), 12, QFont::Normal);
  sentence->setTextFormat(Qt::PlainText);
  sentence->setWordWrap(true);
  column->addWidget(sentence);
  auto scene = std::make_unique<ChartScene>(ChartOf<FitCharts>{
      [this] { return &charts_; },
      [](Drawing& drawing, const Rect& area, const FitCharts& charts, const ViewState& state) {
        draw_fit(drawing, area, charts, state.selected);
      },
      describe_fit, [](const FitCharts& charts) { return q(fit_words(charts)); },
      [] { return QString(); }, [this](Item item) { choose(item); }});
  scene_ = scene.get();
  canvas_ =
      new CanvasWidget("Memory lever by lever, and the plans to choose from", std::move(scene));
  canvas_->setMinimumHeight(240);
  column->addWidget(canvas_, 3);
  rows_ = new ViewTable;
  rows_->set_closable(false);
  rows_->rows()->setAccessibleName("Plans to choose from");
  rows_->rows()->horizontalHeader()->setStretchLastSection(true);
  rows_->show_table(fit_table(found, lever_titles));
  column->addWidget(rows_, 2);
  apply_ = add_closing_row(this, column)->addButton("Apply", QDialogButtonBox::ActionRole);
  apply_->setProperty("kind", "primary");
  apply_->setAccessibleName("Apply");
  connect(apply_, &QPushButton::clicked, this, &FitSheet::apply_selected);
  connect(rows_, &ViewTable::chosen, this, &FitSheet::choose);
  connect(rows_->rows(), &QTableView::activated, this, &FitSheet::apply_selected);
  std::size_t first = 0;
  for (std::size_t i = 0; i < choices_.size(); ++i)
    if (found.chosen && choices_[i].words == found.chosen->words) first = i;
  choose(choices_.empty() ? Item{} : Item{ItemKind::Dot, first});
  rows_->setFocus();
}

// The plan itself is a point, and a row where it is on the front, but there is nothing to set.
void FitSheet::choose(Item item) {
  const bool choice = item.kind == ItemKind::Dot && item.tag < choices_.size();
  scene_->select(choice ? item : Item{});
  rows_->choose(choice ? item : Item{});
  const QString words = choice ? change_name(choices_[item.tag].words) : QString();
  apply_->setEnabled(!words.isEmpty());
  apply_->setAccessibleName(words.isEmpty() ? "Apply" : "Apply: " + words);
  apply_->setToolTip(words);
  canvas_->refresh();
}

void FitSheet::apply_selected() {
  const Item item = scene_->selected();
  if (item.kind != ItemKind::Dot || !apply_->isEnabled()) return;
  Q_EMIT apply(q(choices_[item.tag].words));
  accept();
}

}  // namespace trainyard
