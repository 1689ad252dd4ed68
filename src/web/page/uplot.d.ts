// Served beside the page, from the package.
export { default } from 'uplot';
