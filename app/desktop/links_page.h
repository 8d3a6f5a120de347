// What nccl-tests printed as a link: start and bandwidth fitted, and how far
// each row is from the fit.
#pragma once

#include "app/desktop/page.h"
#include "core/io/nccl_tests_import.h"

class QLabel;
class QTreeWidget;

namespace trainyard {

class LinksPage : public Page {
  Q_OBJECT

 public:
  explicit LinksPage(QWidget* parent = nullptr);
  void open(const QString& path);
  const LinkFit* fit() const { return table_of_.rows.empty() ? nullptr : &fit_; }
  const QString& error() const { return error_; }

  QList<CanvasWidget*> canvases() const override { return {canvas_}; }
  bool whole() const override { return true; }
  std::optional<Drawing> picture() const override;

 private:
  void refresh();

  NcclTable table_of_;
  LinkFit fit_;
  QString error_;
  CanvasWidget* canvas_;
  QLabel *state_, *figures_;
  QTreeWidget* rows_;
};

}  // namespace trainyard
