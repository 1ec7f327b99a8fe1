"""From workbooks (XLSX, XLSM, XLSB, XLS, ODS) to tables: guards, sheets, headers, summary rows."""
