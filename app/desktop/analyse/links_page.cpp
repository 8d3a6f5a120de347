#include "app/desktop/analyse/links_page.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/charts.h"
#include "app/desktop/scene/tip.h"
#include "app/desktop/tables/table.h"
#include "core/base/error.h"
#include "core/io/bytes/files.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/communication/links_view.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

const char* const kNoLinks =
    "Open or drop output of nccl-tests, such as "
    "all_reduce_perf -b 8 -e 8G -f 2 > all_reduce.txt.";

class LinksScene : public Scene {
 public:
  explicit LinksScene(const LinkFit& fitted) : fit_(fitted) {}
  Drawing draw(Size size, double) override {
    last_ = Drawing(size);
    const Rect area{0, 0, size.width, size.height};
    if (fit_.residuals.empty())
      write(last_, kNoLinks, {12, 24}, 12, Weight::Regular, Ink::Text2);
    else
      draw_links(last_, area, fit_);
    return last_;
  }
  QString tooltip(Point p) override {
    const Hover hover = describe_links(fit_, hit(last_, p));
    return hover.title.empty() ? QString() : tip_html(hover);
  }
  QString description() const override {
    return fit_.residuals.empty() ? QString(kNoLinks) : q(spell_links(fit_));
  }

 private:
  const LinkFit& fit_;
  Drawing last_{Size{}};
};

}  // namespace

LinksPage::LinksPage(QWidget* parent) : Page(parent) {
  setObjectName("page");
  setAttribute(Qt::WA_StyledBackground);
  canvas_ = new CanvasWidget("Measured and fitted bandwidth", std::make_unique<LinksScene>(fit_));
  scatter_ = new CanvasWidget("Messages, measured against fitted",
                              residuals_scene(
                                  [this]() -> const ResidualsModel* {
                                    return residuals_.points.empty() ? nullptr : &residuals_;
                                  },
                                  [] { return QString(kNoLinks); }, [](Item) {}));
  pictures_ = new QStackedWidget;
  for (CanvasWidget* each : {canvas_, scatter_}) {
    each->setMinimumHeight(180);
    pictures_->addWidget(each);
  }
  which_ = new Segment("What is drawn", {"Bandwidth", "Residuals"});
  which_->set_current(0);
  auto* bar = new Header("Links");
  state_ = make_label("", 11, QFont::Normal, "second");
  figures_ = make_label("", 12, QFont::DemiBold);
  auto* open_button = new QPushButton("Open nccl-tests…");
  open_button->setAccessibleName("Open nccl-tests…");
  open_button->setFixedHeight(kFieldHeight);
  bar->row()->addWidget(state_);
  bar->row()->addWidget(figures_);
  bar->row()->addWidget(which_);
  bar->row()->addWidget(open_button);
  rows_ = make_table("Rows of the table",
                     {"size", "placement", "measured", "algbw", "busbw", "fitted", "error"},
                     {120, 110});
  auto* halves = new QSplitter(Qt::Vertical);
  halves->addWidget(pictures_);
  halves->addWidget(rows_);
  halves->setSizes({420, 380});
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(bar);
  column->addWidget(halves, 1);
  connect(which_, &Segment::chosen, this, [this](int index) { show_residuals(index == 1); });
  connect(open_button, &QPushButton::clicked, this, [this] {
    const QString path = QFileDialog::getOpenFileName(this, "Open nccl-tests", {},
                                                      "Texts (*.txt *.log);;All files (*)");
    if (!path.isEmpty()) open(path);
  });
}

void LinksPage::open(const QString& path) {
  try {
    NcclTable table = parse_nccl_tests(read_file(path.toStdString()), path.toStdString());
    fit_ = fit_links(table);
    residuals_ = residuals_model(table, fit_);
    table_of_ = std::move(table);
    error_.clear();
  } catch (const Error& error) {
    error_ = q(describe(error));  // what was there before stays
  }
  refresh();
}

void LinksPage::refresh() {
  canvas_->refresh();
  scatter_->refresh();
  state_->setText(error_.isEmpty() ? QFileInfo(q(table_of_.source)).fileName() : error_);
  rows_->clear();
  if (table_of_.rows.empty()) return;
  figures_->setText("start " + q(format_duration(fit_.start)) + ", " +
                    q(format_bandwidth(fit_.bandwidth)) + " of the bus, ± " +
                    q(format_percent(fit_.median_error)) + ", held out " +
                    q(format_percent(fit_.held_out)));
  for (const LinkResidual& r : fit_.residuals) {
    const BytesPerSecond algorithm{static_cast<double>(r.bytes.value) / to_seconds(r.measured)};
    add_table_row(rows_,
                  {q(format_bytes(r.bytes)), r.in_place ? "in place" : "out of place",
                   q(format_duration(r.measured)), q(format_bandwidth(algorithm)),
                   q(format_bandwidth(algorithm * fit_.bus_factor)), q(format_duration(r.fitted)),
                   q(format_signed(100 * r.error(), 1)) + " %"});
  }
  Q_EMIT turned();
}

void LinksPage::show_residuals(bool on) {
  which_->set_current(on ? 1 : 0);
  pictures_->setCurrentIndex(on ? 1 : 0);
}

bool LinksPage::toggle_rows() {
  rows_->setVisible(rows_->isHidden());
  (rows_->isHidden() ? pictures_->currentWidget() : rows_)->setFocus();
  return true;
}

std::optional<DataTable> LinksPage::table() const {
  if (table_of_.rows.empty()) return std::nullopt;
  return residuals_table(residuals_);
}

std::optional<Drawing> LinksPage::picture() const {
  if (table_of_.rows.empty()) return std::nullopt;
  if (pictures_->currentIndex() == 1) return residuals_picture(residuals_);
  Drawing drawing({900, 420});
  draw_links(drawing, {0, 0, 900, 420}, fit_);
  return drawing;
}

}  // namespace trainyard
