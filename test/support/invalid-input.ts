/** Returns the expected GraphQL response to invalid input. `field` is the invalid field. */
export const invalidInput = (message: unknown, field?: string) => ({
  status: 400,
  body: { errors: [{ message, extensions: { code: 'InvalidInput', ...(field && { field }) } }] },
})
