/** Formats a count with its noun, given in the plural: `1 audit entry`, `2 audit entries`. */
export const counted = (amount: number, plural: string): string =>
  `${amount} ${amount === 1 ? plural.replace(/ies$/, 'y').replace(/s$/, '') : plural}`
