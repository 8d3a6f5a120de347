#include "app/desktop/analyse_page.h"

#include <QHBoxLayout>
#include <QStackedWidget>
#include <QTabBar>
#include <QVBoxLayout>

#include "app/desktop/analyse_scene.h"
#include "app/desktop/theme.h"
#include "app/desktop/view_scene.h"

namespace trainyard {
namespace {

constexpr std::string_view kViews[] = {"analyse", "roofline", "order"};

}  // namespace

AnalysePage::AnalysePage(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), tabs_(new QTabBar), pages_(new QStackedWidget) {
  setObjectName("page");
  setAttribute(Qt::WA_StyledBackground);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* bar = new QWidget;
  bar->setObjectName("header");
  bar->setAttribute(Qt::WA_StyledBackground);
  bar->setFixedHeight(kTitleHeight);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(0, 0, 0, 0);
  tabs_->setDrawBase(false);
  tabs_->setExpanding(false);
  tabs_->setAccessibleName("Views");
  row->addWidget(tabs_);
  row->addStretch(1);
  column->addWidget(bar);
  column->addWidget(pages_, 1);
  add("Timeline",
      new CanvasWidget("Timeline and memory", std::make_unique<AnalyseScene>(session_)));
  add("Roofline", new CanvasWidget("Roofline", std::make_unique<ViewScene>(session_, kViews[1])));
  add("Order", new CanvasWidget("Order of work", std::make_unique<ViewScene>(session_, kViews[2])));
  connect(tabs_, &QTabBar::currentChanged, pages_, &QStackedWidget::setCurrentIndex);
  const auto refresh = [this] {
    for (CanvasWidget* canvas : canvases_) canvas->refresh();
  };
  connect(&session_, &Session::experiment_changed, this, refresh);
  for (const auto signal :
       {&Session::view_changed, &Session::range_changed, &Session::selection_changed})
    connect(&session_, signal, canvases_[0], &CanvasWidget::refresh);
}

void AnalysePage::add(const QString& tab, CanvasWidget* canvas) {
  tabs_->addTab(tab);
  pages_->addWidget(canvas);
  canvases_ << canvas;
}

void AnalysePage::show_tab(const QString& name) {
  for (int i = 0; i < tabs_->count(); ++i)
    if (tabs_->tabText(i).toLower() == name) tabs_->setCurrentIndex(i);
}

CanvasWidget* AnalysePage::current() const { return canvases_[tabs_->currentIndex()]; }

std::string_view AnalysePage::current_view() const { return kViews[tabs_->currentIndex()]; }

}  // namespace trainyard
