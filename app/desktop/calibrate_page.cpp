#include "app/desktop/calibrate_page.h"

#include "app/desktop/gallery_page.h"

namespace trainyard {

CalibratePage::CalibratePage(Document& document, Published& published, QWidget* parent)
    : TabPage("Measurements", parent) {
  add("Published", new GalleryPage(document, published));
}

}  // namespace trainyard
