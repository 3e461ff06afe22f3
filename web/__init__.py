"""The edge: routes, frame to command, attachments, the page, settings. May import every other room."""
