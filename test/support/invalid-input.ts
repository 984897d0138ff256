/** What GraphQL answers for input that does not fit; `field` is the one to blame. */
export const invalidInput = (message: unknown, field?: string) => ({
  status: 400,
  body: { errors: [{ message, extensions: { code: 'InvalidInput', ...(field && { field }) } }] },
})
