/** A column of a data table. The slot named by `key` renders its cells. */
export interface Column<Key extends string> {
  key: Key
  label: string
  /** Shows the label to screen readers only, for example for a column of buttons. */
  hiddenLabel?: boolean
  /** Renders the cells as row headers. */
  rowHeader?: boolean
  sortable?: boolean
  class?: string
}
