"""The report and the comparison as one HTML file each: no request to anywhere, readable without scripts."""
