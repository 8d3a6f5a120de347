// What nccl-tests printed as a link: start and bandwidth fitted, and how far
// each row is from the fit.
#pragma once

#include "app/desktop/controls/page.h"
#include "core/io/traces/nccl_tests_import.h"
#include "visualizers/roofline/residuals_view.h"

class QLabel;
class QStackedWidget;
class QTreeWidget;

namespace trainyard {

class Segment;

class LinksPage : public Page {
  Q_OBJECT

 public:
  explicit LinksPage(QWidget* parent = nullptr);
  void open(const QString& path);
  const LinkFit* fit() const { return table_of_.rows.empty() ? nullptr : &fit_; }
  const QString& error() const { return error_; }
  /// Measured against fitted, in place of the bandwidth over the size.
  void show_residuals(bool);
  const ResidualsModel& residuals() const { return residuals_; }

  QList<CanvasWidget*> canvases() const override { return {canvas_, scatter_}; }
  bool whole() const override { return true; }
  bool toggle_rows() override;
  std::optional<Drawing> picture() const override;
  std::optional<DataTable> table() const override;

 private:
  void refresh();

  NcclTable table_of_;
  LinkFit fit_;
  ResidualsModel residuals_;
  QString error_;
  CanvasWidget *canvas_, *scatter_;
  QStackedWidget* pictures_;
  Segment* which_;
  QLabel *state_, *figures_;
  QTreeWidget* rows_;
};

}  // namespace trainyard
