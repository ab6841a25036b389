/** The sign of the product: a weir seen from above, water and posts. */
export function Mark({ size = 24 }: { size?: number }) {
  return <img src="/favicon.svg" alt="" width={size} height={size} />;
}
