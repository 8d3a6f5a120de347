// A GalleryPage shows the published results: measurements beside predictions, as a picture and as a
// table, and for the chosen row its assumptions and its differences from the user's own plan.
#pragma once

#include "app/desktop/controls/page.h"
#include "app/desktop/session/document.h"
#include "app/desktop/session/published.h"

class QLabel;
class QLineEdit;
class QPushButton;
class QTreeWidget;

namespace trainyard {

class CanvasWidget;
class DifferenceTable;

class GalleryPage : public Page {
  Q_OBJECT

 public:
  GalleryPage(Document&, Published&, QWidget* parent = nullptr);
  CanvasWidget* canvas() const { return canvas_; }
  QList<CanvasWidget*> canvases() const override { return {canvas_}; }
  /// The chosen row; -1 if none is chosen.
  int chosen() const { return chosen_; }
  void choose(int row);
  bool settled() const override;
  bool whole() const override { return true; }
  std::optional<Drawing> picture() const override;
  std::optional<DataTable> table() const override;

 Q_SIGNALS:
  void open_row(const QString& id);

 protected:
  void showEvent(QShowEvent*) override;

 private:
  QWidget* make_card();
  void refresh();
  void fill_table();
  void filter(const QString& words);
  void show_row();

  Document& document_;
  Published& published_;
  int chosen_ = -1;
  const PublishedResults* shown_ = nullptr;  // the results from which the table is filled
  CanvasWidget* canvas_;
  QLabel *state_, *found_, *title_, *where_, *figures_;
  QLineEdit* search_;
  QTreeWidget *table_, *assumptions_;
  QPushButton* open_;
  DifferenceTable* difference_;
};

}  // namespace trainyard
